// A drawing of two coordinates of a task: a layer of colours, the goal set, and the paths of an agent.
import { el, followWidth, svg } from "../shared/elements.js";
import { number, roundTicks } from "../shared/numbers.js";

const EDGES = { left: 56, right: 12, top: 10, bottom: 42 };

export class Plane {
  constructor(task, label) {
    this.task = task;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.root = svg("svg", { role: "img", "aria-label": label });
    this.host = el("div", { class: "plane" }, this.canvas, this.root);
    this.width = 0;
    followWidth(this);
  }

  // `content`: {plane, layer: {x, y, values, colour}, earlier, chosen}; an episode is {points, last, count, now}.
  draw(content) {
    this.content = content;
    this.redraw();
  }

  get hasTime() {
    return this.content.plane.axes.length === 1;
  }

  redraw() {
    if (!this.content || !this.width) return;
    const { axes } = this.content.plane;
    const { low, high } = this.task;
    const spans = axes.map((axis) => high[axis] - low[axis]);
    const square = spans.length === 2 && Math.abs(spans[0] / spans[1] - 1) < 0.01;
    this.inner = { width: this.width - EDGES.left - EDGES.right };
    this.inner.height = Math.round(Math.min(this.inner.width * (square ? 1 : 0.62), 520));
    if (square) this.inner.width = this.inner.height;
    this.left = Math.round((this.width - EDGES.right + EDGES.left - this.inner.width) / 2);
    this.height = this.inner.height + EDGES.top + EDGES.bottom;
    const [across, up] = axes;
    this.px = (value) => (this.inner.width * (value - low[across])) / spans[0];
    this.py = up === undefined ? (share) => this.inner.height * (1 - share) : (value) => this.inner.height * (1 - (value - low[up]) / spans[1]);
    this.drawAxes();
    this.drawLayer();
  }

  drawAxes() {
    const { axes } = this.content.plane;
    const { low, high, coordinates } = this.task;
    const bottom = EDGES.top + this.inner.height;
    const group = svg("g", { class: "axes" });
    for (const tick of roundTicks(low[axes[0]], high[axes[0]], this.inner.width > 380 ? 6 : 3)) {
      const x = this.left + this.px(tick);
      group.append(svg("line", { class: "tick", x1: x, x2: x, y1: bottom, y2: bottom + 4 }),
        svg("text", { x, y: bottom + 17, "text-anchor": "middle" }, number(tick)));
    }
    for (const tick of this.hasTime ? [] : roundTicks(low[axes[1]], high[axes[1]], 5)) {
      const y = EDGES.top + this.py(tick);
      group.append(svg("line", { class: "tick", x1: this.left - 4, x2: this.left, y1: y, y2: y }),
        svg("text", { x: this.left - 7, y: y + 4, "text-anchor": "end" }, number(tick)));
    }
    group.append(
      svg("rect", { class: "frame", x: this.left, y: EDGES.top, width: this.inner.width, height: this.inner.height }),
      svg("text", { class: "name", x: this.left + this.inner.width / 2, y: this.height - 6, "text-anchor": "middle" }, coordinates[axes[0]]),
      svg("text", { class: "name", transform: `translate(${this.left - 44} ${EDGES.top + this.inner.height / 2}) rotate(-90)`, "text-anchor": "middle" },
        this.hasTime ? "time in the episode" : coordinates[axes[1]]));
    this.mark = svg("circle", { class: "start", r: 6 });
    this.root.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.root.setAttribute("height", this.height);
    this.root.replaceChildren(group, this.mark);
  }

  drawLayer() {
    const scale = Math.min(devicePixelRatio || 1, 2);
    const { width, height } = this.inner;
    const { canvas } = this;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.style.left = `${this.left}px`;
    canvas.style.top = `${EDGES.top}px`;
    const context = canvas.getContext("2d");
    this.drawColours(context);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const { earlier, chosen } = this.content;
    // The longer an episode is, the paler it is drawn, so that the layer stays visible.
    const pale = (episode, most) => `rgba(255,255,255,${Math.min(Math.max(90 / episode.count, 0.07), most)})`;
    for (const episode of earlier) this.trace(context, episode, episode.count, [[1, pale(episode, 0.28)]]);
    this.trace(context, chosen, chosen.count, [[1, pale(chosen, 0.5)]]);
    this.trace(context, chosen, chosen.now, [[4.2, "rgba(0,0,0,0.55)"], [2.2, "#ffffff"]]);
    const [x, y] = this.place(chosen, chosen.now);
    this.mark.setAttribute("cx", this.left + x);
    this.mark.setAttribute("cy", EDGES.top + y);
  }

  // Each pixel has the colour of the nearest point of the layer; the goal set is striped.
  drawColours(context) {
    const { width, height } = context.canvas;
    const { plane, layer } = this.content;
    const image = context.createImageData(width, height);
    const goalAt = [width, height].map((size) => Array.from({ length: size }, (_, pixel) => Math.round(((pixel + 0.5) / size) * (plane.goal.size - 1))));
    const at = layer ? [nearestPoints(layer.x, this.task, plane.axes[0], width), this.hasTime ? new Int32Array(height) : nearestPoints(layer.y, this.task, plane.axes[1], height)] : null;
    const rows = layer && !this.hasTime ? layer.y.length : 1;
    const colours = layer ? Array.from(layer.values, (value) => (Number.isNaN(value) ? null : layer.colour(value))) : [];
    for (let down = 0; down < height; down += 1) {
      const up = height - 1 - down;
      for (let across = 0; across < width; across += 1) {
        const goal = plane.goal.inside[this.hasTime ? goalAt[0][across] : goalAt[0][across] * plane.goal.size + goalAt[1][up]];
        const colour = at ? colours[at[0][across] * rows + at[1][up]] : null;
        const place = 4 * (down * width + across);
        const [red, green, blue, opacity] = goal && (across + down) % 12 < 6 ? [255, 215, 94, 255] : colour ? [...colour, 255] : [127, 127, 127, 40];
        image.data[place] = red;
        image.data[place + 1] = green;
        image.data[place + 2] = blue;
        image.data[place + 3] = opacity;
      }
    }
    context.putImageData(image, 0, 0);
  }

  // The position of an episode after some of its stored points, in pixels.
  place(episode, index) {
    const { axes } = this.content.plane;
    const m = this.task.low.length;
    const [from, at] = index < episode.count ? [episode.points, index * m] : [episode.last, 0];
    return [this.px(from[at + axes[0]]), this.hasTime ? this.py(index / Math.max(episode.count, 1)) : this.py(from[at + axes[1]])];
  }

  // A line along the first points of an episode; it is broken where a periodic coordinate wraps around.
  trace(context, episode, until, pens) {
    const { axes } = this.content.plane;
    const spans = [this.task.periodic[axes[0]] ? this.inner.width / 2 : Infinity, this.task.periodic[axes[1]] ? this.inner.height / 2 : Infinity];
    context.beginPath();
    let before = null;
    for (let index = 0; index <= Math.min(until, episode.count); index += 1) {
      const [x, y] = this.place(episode, index);
      if (before === null || Math.abs(x - before[0]) > spans[0] || Math.abs(y - before[1]) > spans[1]) context.moveTo(x, y);
      else context.lineTo(x, y);
      before = [x, y];
    }
    context.lineJoin = "round";
    for (const [width, colour] of pens) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }
}

// For each pixel along an axis, the index of the nearest of some sorted points. On a periodic axis, the first point also follows the last.
function nearestPoints(points, task, axis, pixels) {
  const { low, high, periodic } = task;
  const span = high[axis] - low[axis];
  const found = new Int32Array(pixels);
  let place = 0;
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    const value = low[axis] + (span * (pixel + 0.5)) / pixels;
    while (place + 1 < points.length && points[place + 1] - value < value - points[place]) place += 1;
    const wraps = periodic[axis] && points[0] + span - value < value - points[place];
    found[pixel] = wraps ? 0 : place;
  }
  return found;
}
