// A chart of curves: means with bands, single runs, a line at the current moment, and the values under the pointer.
import { el, followWidth, svg } from "./elements.js";
import { logTicks, number, roundTicks, whole } from "./numbers.js";
import { markerPath } from "./colours.js";

const MARGIN = { left: 62, right: 22, top: 12, bottom: 40 };
const MARKS = 5;
const MOST_LABELS = 8;
const MOST_LABELS_ABOVE = 3;
const pen = document.createElement("canvas").getContext("2d");
let charts = 0;

export class Chart {
  constructor({ label, xLabel, yLabel, height = 300, pick = null }) {
    this.xLabel = xLabel;
    this.yLabel = yLabel;
    this.height = height;
    this.pick = pick;
    this.width = 0;
    this.content = null;
    this.id = `chart-${(charts += 1)}`;
    this.root = svg("svg", { class: "chart", role: "img", "aria-label": label });
    this.note = el("div", { class: "under-pointer", hidden: true });
    this.host = el("div", { class: "chart-host" }, this.root, this.note);
    this.root.addEventListener("pointermove", (event) => this.hover(event));
    this.root.addEventListener("pointerleave", () => this.leave());
    this.root.addEventListener("click", (event) => this.pick?.(this.episodeAt(event)));
    followWidth(this);
  }

  // `series`: {label, style, x, y, low, high, runs, cut}; `axes`: "linear" or "log"; `moving`: curves grow up to `now`.
  draw(content) {
    this.content = content;
    this.redraw();
  }

  redraw() {
    if (!this.content || !this.width) return;
    const { series, axes } = this.content;
    const { width, height } = this;
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.root.setAttribute("height", height);
    this.scale(series, axes);
    this.root.replaceChildren();
    const inner = { x: MARGIN.left, y: MARGIN.top, width: this.innerWidth, height: this.innerHeight };
    this.root.append(
      svg("defs", {},
        svg("clipPath", { id: `${this.id}-all` }, svg("rect", { ...inner, y: inner.y - 4, height: inner.height + 8, width: inner.width + 6 })),
        svg("clipPath", { id: `${this.id}-past` }, (this.past = svg("rect", inner)))),
      this.drawAxes());
    const drawn = svg("g", { "clip-path": `url(#${this.id}-all)` });
    for (const each of series) drawn.append(...this.drawBand(each));
    for (const each of series) drawn.append(this.drawLine(each));
    this.root.append(drawn, ...this.drawLabels(series));
    if (this.blank) {
      this.root.append(svg("text", { class: "empty", x: width / 2, y: height / 2, "text-anchor": "middle" },
        this.content.empty ?? "nothing to draw"));
    }
    this.pointer = svg("g", { class: "pointer" });
    this.root.append(this.pointer);
    this.moveTo(this.content.now ?? null);
  }

  scale(series, axes) {
    this.log = axes === "log";
    // If there are few curves, and their names differ, each name is written at the end of its curve: beside it, or above it in a narrow chart.
    this.beside = this.width > 460;
    pen.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    const most = this.beside ? 0.3 * this.width : this.width - MARGIN.left - MARGIN.right;
    this.names = series.map(({ label }) => cutToWidth(label, most - 14));
    this.labelled = Boolean(this.content.labels) && new Set(this.names).size > 1 && new Set(this.names).size === series.length && series.length <= (this.beside ? MOST_LABELS : MOST_LABELS_ABOVE);
    const room = this.labelled && this.beside ? Math.max(...this.names.map(textWidth)) + 14 : MARGIN.right;
    this.innerWidth = Math.max(this.width - MARGIN.left - room, 10);
    this.innerHeight = this.height - MARGIN.top - MARGIN.bottom;
    const usable = (value) => Number.isFinite(value) && (!this.log || value > 0);
    let [first, last, low, high] = [this.log ? Infinity : 0, this.content.last ?? 1, Infinity, -Infinity];
    const take = (values) => {
      for (const value of values) {
        if (usable(value)) {
          if (value < low) low = value;
          if (value > high) high = value;
        }
      }
    };
    for (const each of series) {
      if (this.log) first = Math.min(first, each.x[0] ?? Infinity);
      last = Math.max(last, each.x[each.x.length - 1] ?? 1);
      take(each.y);
      if (each.high) take(each.high);
      if (each.low && !this.log) take(each.low);
      for (const run of each.runs ?? []) take(run);
    }
    this.blank = !(high >= low);
    if (this.log) {
      first = Number.isFinite(first) ? Math.max(first, 1) : 1;
      if (last <= first) last = 10 * first;
      if (high > low) low = Math.max(low, high * 1e-6);
      else if (high > 0) [low, high] = [high / 2, high * 2];
    } else {
      low = Math.min(0, low);
      if (!(high > low)) high = low + 1;
    }
    Object.assign(this, { first, last, low, high: this.log ? high * 1.1 : high + 0.04 * (high - low) });
    const along = (value, from, to) => (this.log
      ? (Math.log(Math.max(value, 1e-300)) - Math.log(from)) / (Math.log(to) - Math.log(from))
      : (value - from) / (to - from));
    this.px = (value) => MARGIN.left + this.innerWidth * along(value, this.first, this.last);
    this.py = (value) => MARGIN.top + this.innerHeight * (1 - along(value, this.low, this.high));
  }

  drawAxes() {
    const group = svg("g", { class: "axes" });
    const bottom = MARGIN.top + this.innerHeight;
    const roomy = this.innerWidth > 380;
    const across = this.log ? logTicks(this.first, this.last) : roundTicks(this.first, this.last, roomy ? 5 : 3);
    const up = this.high > this.low ? (this.log ? logTicks(this.low, this.high) : roundTicks(this.low, this.high, 5)) : [];
    for (const tick of up) {
      const y = this.py(tick);
      group.append(svg("line", { class: tick === 0 ? "zero" : "rule", x1: MARGIN.left, x2: MARGIN.left + this.innerWidth, y1: y, y2: y }),
        svg("text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, tickText(tick)));
    }
    for (const tick of across) {
      const x = this.px(tick);
      group.append(svg("line", { class: "tick", x1: x, x2: x, y1: bottom, y2: bottom + 4 }),
        svg("text", { x, y: bottom + 17, "text-anchor": "middle" }, tickText(tick)));
    }
    group.append(
      svg("line", { class: "base", x1: MARGIN.left, x2: MARGIN.left + this.innerWidth, y1: bottom, y2: bottom }),
      svg("text", { class: "name", x: MARGIN.left + this.innerWidth / 2, y: this.height - 5, "text-anchor": "middle" }, this.content.xLabel ?? this.xLabel),
      svg("text", { class: "name", transform: `translate(13 ${MARGIN.top + this.innerHeight / 2}) rotate(-90)`, "text-anchor": "middle" },
        this.content.yLabel ?? this.yLabel));
    return group;
  }

  path(x, y) {
    const parts = [];
    let open = false;
    for (let i = 0; i < y.length; i += 1) {
      const value = y[i];
      if (!Number.isFinite(value) || (this.log && value <= 0)) {
        open = false;
        continue;
      }
      parts.push(`${open ? "L" : "M"}${this.px(x[i]).toFixed(1)},${this.py(value).toFixed(1)}`);
      open = true;
    }
    return parts.join("");
  }

  drawBand(each) {
    const { colour } = each.style;
    const drawn = [];
    if (each.low && each.high) {
      const floor = this.log ? this.low : -Infinity;
      const places = [...each.x.keys()].filter((i) => Number.isFinite(each.high[i]) && Number.isFinite(each.low[i])
        && (!this.log || each.high[i] > 0));
      const above = places.map((i) => `${this.px(each.x[i]).toFixed(1)},${this.py(each.high[i]).toFixed(1)}`);
      const below = places.map((i) => `${this.px(each.x[i]).toFixed(1)},${this.py(Math.max(each.low[i], floor)).toFixed(1)}`);
      if (places.length) {
        drawn.push(svg("path", { class: "band", "data-agent": each.label, fill: colour, stroke: colour, d: `M${above.join("L")}L${below.reverse().join("L")}z` }));
      }
    }
    if (each.runs?.length) {
      drawn.push(svg("path", { class: "runs", "data-agent": each.label, stroke: colour, d: each.runs.map((run) => this.path(each.runX ?? each.x, run)).join("") }));
    }
    return drawn;
  }

  drawLine(each) {
    const { colour } = each.style;
    const look = { "data-agent": each.label, stroke: colour, "stroke-dasharray": each.style.dashes.map((dash) => 1.8 * dash).join(" ") || null };
    const d = this.path(each.x, each.y);
    const group = svg("g", { class: "curve", "data-agent": each.label });
    const last = each.y.length - 1;
    group.dataset.last = last >= 0 ? String(each.y[last]) : "";
    if (this.content.moving) {
      group.append(svg("path", { class: "line future", ...look, d }),
        svg("g", { "clip-path": `url(#${this.id}-past)` }, svg("path", { class: "line", ...look, d })));
    } else {
      group.append(svg("path", { class: "line", ...look, d }));
    }
    for (const place of this.content.moving ? [] : this.markedPlaces(each)) {
      group.append(svg("path", { class: "mark", fill: colour, d: markerPath(each.style.marker, 4),
        transform: `translate(${this.px(each.x[place]).toFixed(1)} ${this.py(each.y[place]).toFixed(1)})` }));
    }
    if (each.cut && last >= 0) {
      group.append(svg("path", { class: "cut", stroke: colour, d: "M-6,-6L6,6M-6,6L6,-6",
        transform: `translate(${this.px(each.x[last])} ${this.py(each.y[last])})` }));
    }
    return group;
  }

  // The names of the agents at the ends of their curves, moved apart where they would overlap.
  drawLabels(series) {
    if (!this.labelled || this.blank) return [];
    const ends = series.map((each, index) => {
      let place = each.y.length - 1;
      while (place >= 0 && !(Number.isFinite(each.y[place]) && (!this.log || each.y[place] > 0))) place -= 1;
      return { name: this.names[index], fill: each.style.colour, x: this.px(each.x[place] ?? 0), y: this.py(each.y[place] ?? this.low) };
    }).sort((one, other) => one.y - other.y);
    ends.forEach((end, place) => { if (place) end.y = Math.max(end.y, ends[place - 1].y + 15); });
    const below = (ends.at(-1)?.y ?? 0) - (MARGIN.top + this.innerHeight);
    const place = this.beside ? { dx: 8, dy: 4 } : { dx: 4, dy: -8, "text-anchor": "end" };
    const least = (name) => (this.beside ? 0 : MARGIN.left + textWidth(name));
    return ends.map(({ name, fill, x, y }) => svg("text", { class: "curve-label", x: Math.max(x, least(name)), y: y - Math.max(below, 0), fill, ...place }, name));
  }

  markedPlaces(each) {
    const count = this.content.series.length;
    const place = this.content.series.indexOf(each);
    const places = new Set();
    for (let mark = 0; mark < MARKS && each.x.length; mark += 1) {
      const share = (mark + (place + 0.5) / count) / MARKS;
      const x = this.log ? this.first * (this.last / this.first) ** share : this.last * share;
      const found = nearest(each.x, x);
      if (Number.isFinite(each.y[found]) && (!this.log || each.y[found] > 0)) places.add(found);
    }
    return places;
  }

  // Moves the current moment of a chart whose curves grow with the replay.
  moveTo(now) {
    if (!this.content?.moving) return;
    this.content.now = now;
    if (!this.past) return;
    const x = now === null ? MARGIN.left + this.innerWidth : Math.min(Math.max(this.px(Math.max(now, this.log ? this.first : 0)), MARGIN.left), MARGIN.left + this.innerWidth);
    this.past.setAttribute("width", Math.max(x - MARGIN.left, 0));
    if (!this.nowLine?.isConnected) {
      this.nowLine = svg("line", { class: "now", y1: MARGIN.top, y2: MARGIN.top + this.innerHeight });
      this.root.append(this.nowLine);
    }
    this.nowLine.setAttribute("x1", x);
    this.nowLine.setAttribute("x2", x);
    this.nowMarks ??= [];
    this.content.series.forEach((each, place) => {
      const mark = (this.nowMarks[place] ??= svg("path", { class: "mark" }));
      if (!mark.isConnected) this.root.append(mark);
      const at = nearest(each.x, now ?? 0);
      const value = each.y[at];
      const hidden = now === null || !each.x.length || each.x[at] > now + 1 || !Number.isFinite(value) || (this.log && value <= 0);
      mark.setAttribute("visibility", hidden ? "hidden" : "visible");
      if (hidden) return;
      mark.setAttribute("d", markerPath(each.style.marker, 6));
      mark.setAttribute("fill", each.style.colour);
      mark.setAttribute("transform", `translate(${Math.min(x, this.px(each.x.at(-1)))} ${this.py(value)})`);
    });
  }

  episodeAt(event) {
    const box = this.root.getBoundingClientRect();
    const share = (((event.clientX - box.left) * this.width) / box.width - MARGIN.left) / this.innerWidth;
    const clipped = Math.min(Math.max(share, 0), 1);
    return this.log ? this.first * (this.last / this.first) ** clipped : this.first + (this.last - this.first) * clipped;
  }

  hover(event) {
    if (!this.content?.series.length) return;
    const at = this.episodeAt(event);
    const marks = [];
    const lines = [];
    let shownAt = at;
    for (const each of this.content.series) {
      const place = nearest(each.x, at);
      const value = each.y[place];
      if (!Number.isFinite(value)) continue;
      shownAt = each.x[place];
      const { colour } = each.style;
      if (!this.log || value > 0) {
        marks.push(svg("path", { fill: colour, class: "mark", d: markerPath(each.style.marker, 5), transform: `translate(${this.px(each.x[place])} ${this.py(value)})` }));
      }
      const reach = each.low ? ` ± ${number((each.high[place] - each.low[place]) / 2, 2)}` : "";
      lines.push([value, el("li", {}, swatch(each.style), el("span", {}, each.label), el("b", {}, number(value) + reach))]);
    }
    lines.sort((one, other) => other[0] - one[0]);
    const x = this.px(shownAt);
    this.pointer.replaceChildren(svg("line", { x1: x, x2: x, y1: MARGIN.top, y2: MARGIN.top + this.innerHeight }), ...marks);
    this.note.replaceChildren(el("p", {}, `${this.content.unit ?? "episode"} ${whole(Math.round(shownAt))}`), el("ul", {}, lines.map(([, line]) => line)));
    this.note.hidden = false;
    const left = x < this.width / 2;
    this.note.style.left = left ? `${x + 12}px` : "auto";
    this.note.style.right = left ? "auto" : `${this.width - x + 12}px`;
  }

  leave() {
    this.pointer?.replaceChildren();
    this.note.hidden = true;
  }
}

// A short piece of an agent's line, with its marker.
export function swatch(style) {
  const { colour } = style;
  return svg("svg", { class: "swatch", viewBox: "0 0 28 12", width: 28, height: 12, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 28, y1: 6, y2: 6, stroke: colour, "stroke-width": 2.2, "stroke-dasharray": style.dashes.map((dash) => 1.8 * dash).join(" ") || null }),
    svg("path", { d: markerPath(style.marker, 4), transform: "translate(14 6)", fill: colour }));
}

export function nearest(sorted, value) {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value - sorted[low - 1] < sorted[low] - value ? low - 1 : low;
}

function textWidth(text) {
  return pen.measureText(text).width;
}

function cutToWidth(text, most) {
  let end = text.length;
  while (end > 0 && textWidth(text.slice(0, end)) > most) end -= 1;
  return end < text.length ? `${text.slice(0, Math.max(end - 1, 0))}…` : text;
}

function tickText(tick) {
  const size = Math.abs(tick);
  if (size >= 1e6) return `${number(tick / 1e6)} M`;
  if (size >= 1e4) return `${number(tick / 1e3)} k`;
  return number(tick, size < 1 ? 3 : 4);
}
