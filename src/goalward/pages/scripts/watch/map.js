// A world with one colour, one text and the actions of a plan in each state.
import { el, svg } from "../shared/elements.js";
import { css, inkOn } from "../shared/colours.js";

const UNIT = 60;
const TURNS = { right: 0, down: 90, left: 180, up: 270 };
const MOST_WITH_TEXT = 14;
const MOST_WITH_ARROWS = 45;
const LONGEST_LIST = 400;

export function worldMap(world, places, label, pick) {
  return places.kind === "list" ? new ListMap(world, label, pick) : new DrawnMap(world, places, label, pick);
}

class DrawnMap {
  constructor(world, places, label, pick) {
    this.world = world;
    this.places = places;
    this.directions = world.actionNames.map((name) => TURNS[name.toLowerCase()]);
    this.arrows = this.directions.every((turn) => turn !== undefined) && places.kind === "grid";
    const longest = Math.max(places.columns, places.rows);
    this.hasText = places.kind === "graph" || longest <= MOST_WITH_TEXT;
    this.hasActions = places.kind === "graph" || longest <= MOST_WITH_ARROWS;
    this.shown = new Array(world.states).fill("");
    this.host = svg("svg", {
      class: `map ${places.kind}`, viewBox: `-2 -2 ${places.columns * UNIT + 4} ${places.rows * UNIT + 4}`,
      role: "group", "aria-label": label, tabindex: "0",
    });
    // Small worlds are not blown up to the width of the screen, and large ones fit on it.
    const height = Math.min(places.rows * 104, 470);
    this.host.style.maxHeight = `${height}px`;
    this.host.append(...this.ground());
    this.edges = svg("g", { class: "edges" });
    this.host.append(this.edges);
    this.cells = places.states.map((spot, state) => this.cell(spot, state, pick));
    this.host.append(...this.cells.map((cell) => cell.group), ...this.signs());
    this.frame = this.shape({ x: 0, y: 0 }, "chosen");
    this.frame.setAttribute("visibility", "hidden");
    this.host.append(this.frame);
    this.host.addEventListener("keydown", (event) => this.walk(event, pick));
  }

  shape({ x, y }, name) {
    if (this.places.kind === "grid") {
      return svg("rect", { class: name, x: x * UNIT + 0.75, y: y * UNIT + 0.75, width: UNIT - 1.5, height: UNIT - 1.5, rx: 3 });
    }
    return svg("circle", { class: name, cx: (x + 0.5) * UNIT, cy: (y + 0.5) * UNIT, r: 0.46 * UNIT });
  }

  ground() {
    const walls = this.places.walls.map((spot) => this.shape(spot, "wall"));
    return [...walls, ...this.places.goals.map((spot) => this.shape(spot, "goal"))];
  }

  signs() {
    const star = "M0,-16L4.7,-5.2L16,-5.2L7,2.2L10.2,13.6L0,6.8L-10.2,13.6L-7,2.2L-16,-5.2L-4.7,-5.2z";
    const goals = this.places.goals.map(({ x, y }) =>
      svg("path", { class: "star", d: star, transform: `translate(${(x + 0.5) * UNIT} ${(y + 0.5) * UNIT})` }, svg("title", {}, "goal")));
    const start = this.places.states[this.world.start];
    const corner = this.places.kind === "grid" ? [0.14, 0.86] : [0.08, 0.2];
    return [...goals, svg("circle", { class: "start", cx: (start.x + corner[0]) * UNIT, cy: (start.y + corner[1]) * UNIT, r: 4.5 }, svg("title", {}, "start"))];
  }

  cell(spot, state, pick) {
    const name = this.world.stateNames[state];
    const ground = this.shape(spot, "state");
    const title = svg("title", {}, name);
    const group = svg("g", { class: "cell", "data-state": state, onclick: () => pick(state) }, title, ground);
    const cell = { group, ground, title, name, arrows: null, text: null, marks: null, wind: null };
    const x = (spot.x + 0.5) * UNIT;
    if (this.hasText) {
      cell.text = svg("text", { class: "number", x, y: (spot.y + 0.36) * UNIT });
      group.append(cell.text);
    }
    if (this.hasText && spot.wind) {
      const force = `${spot.wind > 0 ? "↑" : "↓"}${Math.abs(spot.wind)}`;
      cell.wind = svg("text", { class: "wind", x: (spot.x + 0.81) * UNIT, y: (spot.y + 0.92) * UNIT }, force);
      group.append(cell.wind);
    }
    if (this.hasActions && this.arrows) {
      const y = (spot.y + (this.hasText ? 0.68 : 0.5)) * UNIT;
      cell.arrows = this.directions.map(() => svg("path", { class: "arrow", visibility: "hidden" }));
      cell.centre = `translate(${x} ${y})`;
      group.append(...cell.arrows);
    } else if (this.hasActions) {
      cell.marks = svg("text", { class: "action", x, y: (spot.y + (this.hasText ? 0.72 : 0.62)) * UNIT });
      group.append(cell.marks);
    }
    return cell;
  }

  // `colour` is [r, g, b] or a class name for a state without a number.
  paint(state, colour, text, played, tied, note) {
    const cell = this.cells[state];
    const key = `${colour}|${text}|${played}|${tied}`;
    cell.note = note;
    if (this.shown[state] === key) return;
    this.shown[state] = key;
    const solid = Array.isArray(colour);
    const ink = solid ? inkOn(colour) : "var(--ink)";
    cell.ground.setAttribute("class", solid ? "state" : `state ${colour}`);
    cell.ground.setAttribute("fill", solid ? css(colour) : "none");
    if (cell.text) {
      cell.text.textContent = text;
      cell.text.setAttribute("fill", ink);
    }
    if (cell.wind) cell.wind.setAttribute("fill", ink);
    cell.group.dataset.text = text;
    cell.group.dataset.actions = played.join(" ");
    if (cell.arrows) this.paintArrows(cell, played, tied, ink);
    else if (cell.marks) {
      cell.marks.textContent = played.map((action) => this.world.actionMarks[action]).join("·");
      cell.marks.setAttribute("fill", ink);
    }
  }

  paintArrows(cell, played, tied, ink) {
    const alone = played.length === 1 && tied.length <= 1;
    const size = this.hasText ? 1 : 1.5;
    cell.arrows.forEach((arrow, action) => {
      const plays = played.includes(action);
      const look = plays || tied.includes(action) ? `${alone}${plays}${ink}` : "";
      if (arrow.look === look) return;
      arrow.look = look;
      if (!look) {
        arrow.setAttribute("visibility", "hidden");
        return;
      }
      const shape = alone ? "M-11,-2.1H2.5V-6.5L11.5,0L2.5,6.5V2.1H-11z" : "M3,-1.2H9V-4L14.5,0L9,4V1.2H3z";
      arrow.setAttribute("d", shape);
      arrow.setAttribute("visibility", "visible");
      arrow.setAttribute("fill", ink);
      arrow.setAttribute("opacity", plays ? 1 : 0.42);
      arrow.setAttribute("transform", `${cell.centre} rotate(${this.directions[action]}) scale(${size})`);
    });
  }

  // Lines where played actions have led so far: [from, to, share].
  drawEdges(edges) {
    if (this.places.kind !== "graph") return;
    const spot = (state) => this.places.states[state] ?? this.places.goals[0];
    this.edges.replaceChildren(...edges.filter(([from, to]) => from !== to).map(([from, to, share]) => {
      const [a, b] = [spot(from), spot(to)].map(({ x, y }) => [(x + 0.5) * UNIT, (y + 0.5) * UNIT]);
      const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
      const side = [(-0.14 * (b[1] - a[1])), 0.14 * (b[0] - a[0])];
      const middle = [(a[0] + b[0]) / 2 + side[0], (a[1] + b[1]) / 2 + side[1]];
      const back = [b[0] - middle[0], b[1] - middle[1]];
      const reach = Math.hypot(...back);
      const tip = [b[0] - (back[0] / reach) * 0.5 * UNIT, b[1] - (back[1] / reach) * 0.5 * UNIT];
      const angle = (Math.atan2(back[1], back[0]) * 180) / Math.PI;
      return svg("g", { opacity: 0.25 + 0.75 * share },
        svg("path", { d: `M${a}Q${middle} ${tip}`, "stroke-width": 1 + 2.5 * share, "data-length": Math.round(length) }),
        svg("path", { class: "tip", d: "M0,0L-9,-4.5L-9,4.5z", transform: `translate(${tip}) rotate(${angle})` }));
    }));
  }

  walls(walls) {
    this.cells.forEach((cell, state) => cell.group.classList.toggle("walled", walls.has(state)));
  }

  choose(state) {
    if (state === null) {
      this.frame.setAttribute("visibility", "hidden");
      return;
    }
    const next = this.shape(this.places.states[state], "chosen");
    this.frame.replaceWith(next);
    this.frame = next;
    this.chosen = state;
  }

  // Arrow keys on the map itself walk from state to state.
  walk(event, pick) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const from = this.places.states[this.chosen ?? this.world.start];
    if (this.chosen === undefined) {
      pick(this.world.start);
      return;
    }
    let [best, found] = [Infinity, null];
    this.places.states.forEach((spot, state) => {
      const along = (spot.x - from.x) * step[0] + (spot.y - from.y) * step[1];
      const aside = Math.abs((spot.x - from.x) * step[1]) + Math.abs((spot.y - from.y) * step[0]);
      if (along > 0.1 && along + 3 * aside < best) [best, found] = [along + 3 * aside, state];
    });
    if (found !== null) pick(found);
  }
}

class ListMap {
  constructor(world, label, pick) {
    this.world = world;
    this.count = Math.min(world.states, LONGEST_LIST);
    this.shown = [];
    const rows = [];
    this.cells = Array.from({ length: this.count }, (_, state) => {
      const patch = el("td", { class: "patch right" });
      const actions = el("td");
      const row = el("tr", { class: "cell", "data-state": state, tabindex: "0", onclick: () => pick(state),
        onkeydown: (event) => event.key === "Enter" && pick(state) },
      el("td", {}, world.stateNames[state] + (state === world.start ? " (start)" : "")), patch, actions);
      rows.push(row);
      return { row, patch, actions };
    });
    const rest = world.states - this.count;
    this.host = el("div", { class: "list-map", role: "group", "aria-label": label },
      el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "state"), el("th", { class: "right" }, "layer"), el("th", {}, "plays"))), el("tbody", {}, rows)),
      rest > 0 ? el("p", { class: "small" }, `${rest.toLocaleString("en-US")} more states are not listed`) : null);
  }

  paint(state, colour, text, played) {
    if (state >= this.count) return;
    const key = `${colour}|${text}|${played}`;
    if (this.shown[state] === key) return;
    this.shown[state] = key;
    const { row, patch, actions } = this.cells[state];
    const solid = Array.isArray(colour);
    patch.textContent = text;
    patch.style.background = solid ? css(colour) : "none";
    patch.style.color = solid ? inkOn(colour) : "inherit";
    row.dataset.actions = played.join(" ");
    row.dataset.text = text;
    actions.textContent = played.map((action) => this.world.actionNames[action]).join(" or ");
  }

  drawEdges() {}

  walls(walls) {
    this.cells.forEach(({ row }, state) => row.classList.toggle("walled", walls.has(state)));
  }

  choose(state) {
    this.cells.forEach(({ row }, each) => row.classList.toggle("chosen", each === state));
  }
}
