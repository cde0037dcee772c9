// Maps of a world that show a colour, a text and the actions of a plan in each state.
import { el, svg } from "../shared/elements.js";
import { css, inkOn } from "../shared/colours.js";

const UNIT = 60; // the side of a cell
export const PIT = "M-11,-4A11,5 0 1 0 11,-4A11,5 0 1 0 -11,-4zM-7,-4A7,3 0 1 1 7,-4z";
const TURNS = { right: 0, down: 90, left: 180, up: 270, east: 0, south: 90, west: 180, north: 270 };
const MOST_WITH_TEXT = 14; // rows or columns of a map with a number in each cell
const MOST_WITH_ARROWS = 45; // rows or columns of a map with arrows
const LONGEST_LIST = 400; // states
const TRAIL = 18; // steps
let maps = 0;

// `pick` is called with the state that is clicked, `hover` with the state under the pointer or null.
export function worldMap(world, places, label, colour, pick, hover, visits) {
  return places.kind === "list" ? new ListMap(world, label, pick, visits) : new DrawnMap(world, places, label, colour, pick, hover);
}

// States that no action leaves, except giving up.
export function pitsOf({ truth, states, actions, actionNames }) {
  const pits = new Set();
  for (let state = 0; truth && state < states; state += 1) {
    let [moves, stays] = [0, 0];
    for (let action = 0; action < actions; action += 1) {
      const row = state * actions + action;
      const [from, to] = [truth.indptr[row], truth.indptr[row + 1]];
      if (actionNames[action] === "give up" || from === to) continue;
      moves += 1;
      stays += to === from + 1 && truth.successors[from] === state;
    }
    if (moves === stays) pits.add(state);
  }
  return pits;
}

// States that are unreachable from the start in the true world, such as the cliff of CliffWalking.
export function closedOf({ truth, states, actions, start }) {
  const reached = new Set([start]);
  for (const state of truth ? reached : []) {
    for (let i = truth.indptr[state * actions]; i < truth.indptr[(state + 1) * actions]; i += 1) {
      if (truth.successors[i] !== states) reached.add(truth.successors[i]);
    }
  }
  return new Set(Array.from({ length: truth ? states : 0 }, (_, state) => state).filter((state) => !reached.has(state)));
}

class DrawnMap {
  constructor(world, places, label, colour, pick, hover) {
    this.world = world;
    this.places = places;
    this.id = `map-${(maps += 1)}`;
    this.pits = pitsOf(world);
    this.closed = closedOf(world);
    this.directions = world.actionNames.map((name) => TURNS[name.toLowerCase()]);
    this.arrows = this.directions.some((turn) => turn !== undefined) && places.kind === "grid";
    const longest = Math.max(places.columns, places.rows);
    this.hasText = places.kind === "graph" || longest <= MOST_WITH_TEXT;
    this.hasActions = places.kind === "graph" || longest <= MOST_WITH_ARROWS;
    this.shown = new Array(world.states).fill("");
    this.large = this.hasText ? 1 : 2.2;
    const margin = places.kind === "grid" ? 20 * this.large : 2;
    this.host = svg("svg", {
      class: `map ${places.kind}`, viewBox: [-margin, -margin, places.columns * UNIT + margin + 4, places.rows * UNIT + margin + 4].join(" "),
      role: "listbox", "aria-label": label, tabindex: "0",
    });
    // Small worlds are not enlarged to the width of the screen; large worlds shrink to fit it.
    this.host.style.maxHeight = `${Math.min(places.rows * (places.kind === "grid" ? 104 : 118), 470)}px`;
    // Only the floor on which the agent is, or which the reader has chosen, is visible.
    // Numbers and arrows lie above the agent's trail, so that both can be read.
    this.floors = (places.floors ?? [""]).map(() => svg("g"));
    this.inks = this.floors.map(() => svg("g", { class: "ink" }));
    this.host.append(...places.walls.map((spot) => this.shape(spot, "wall")));
    this.edges = svg("g", { class: "edges" });
    this.host.append(...this.ruler(), this.possibleMoves(), this.edges);
    this.cells = places.states.map((spot, state) => this.cell(spot, state, pick, hover));
    this.addSigns();
    this.imagined = svg("g", { class: "imagined" });
    this.trail = Array.from({ length: TRAIL }, () => svg("path", { visibility: "hidden" }));
    this.host.append(...this.floors, svg("g", { class: "trail", stroke: places.kind === "graph" ? colour : "#ffffff", "stroke-width": 3 * this.large }, this.trail), ...this.inks, this.imagined, this.walker(colour));
    this.host.addEventListener("pointerleave", () => hover(null));
    this.host.addEventListener("keydown", (event) => this.move(event, pick));
  }

  shape({ x, y }, name) {
    if (this.places.kind === "grid") {
      return svg("rect", { class: name, x: x * UNIT + 0.75, y: y * UNIT + 0.75, width: UNIT - 1.5, height: UNIT - 1.5, rx: 3 });
    }
    return svg("circle", { class: name, cx: (x + 0.5) * UNIT, cy: (y + 0.5) * UNIT, r: 0.46 * UNIT });
  }

  floorOf(state) {
    return this.floors[(this.places.states[state] ?? this.places.goals[0]).floor ?? 0];
  }

  showFloor(shown) {
    this.floors.forEach((floor, place) => { floor.style.display = this.inks[place].style.display = floor === shown ? "" : "none"; });
    this.shownFloor = shown;
  }

  // The numbers of rows and columns, which the captions refer to.
  ruler() {
    if (this.places.kind !== "grid") return [];
    const every = this.hasText ? 1 : 5;
    const numbers = (count) => Array.from({ length: Math.ceil(count / every) }, (_, place) => place * every);
    const mark = (text, x, y) => svg("text", { class: "ruler", transform: `translate(${x} ${y}) scale(${this.large})` }, text);
    return [...numbers(this.places.columns).map((column) => mark(column, (column + 0.5) * UNIT, -6 * this.large)),
      ...numbers(this.places.rows).map((row) => mark(row, -10 * this.large, (row + 0.5) * UNIT + 4 * this.large))];
  }

  addSigns() {
    const { places } = this;
    const add = (spot, tag, attributes, meaning) => this.inks[spot.floor ?? 0].append(svg(tag, attributes, meaning ? svg("title", {}, meaning) : null));
    const middle = ({ x, y }, down = 0.5) => `translate(${(x + 0.5) * UNIT} ${(y + down) * UNIT})`;
    const star = "M0,-16L4.7,-5.2L16,-5.2L7,2.2L10.2,13.6L0,6.8L-10.2,13.6L-7,2.2L-16,-5.2L-4.7,-5.2z";
    for (const spot of places.goals) {
      this.floors[spot.floor ?? 0].append(this.shape(spot, "goal"));
      add(spot, "path", { class: "star", d: star, role: "option", "aria-label": "goal", transform: middle(spot) }, "goal");
    }
    for (const spot of [...this.pits].map((state) => places.states[state])) add(spot, "path", { class: "pit", d: PIT, transform: `${middle(spot, 0.54)} scale(1.25)` }, "pit");
    for (const spot of [...this.closed].map((state) => places.states[state])) add(spot, "path", { class: "closed", d: `M${spot.x * UNIT + 4},${spot.y * UNIT + 4}l52,52m0,-52l-52,52` }, "no step leads here");
    const start = places.states[this.world.start];
    const corner = places.kind === "grid" ? [0.14, 0.86] : [0.08, 0.2];
    add(start, "circle", { class: "start", cx: (start.x + corner[0]) * UNIT, cy: (start.y + corner[1]) * UNIT, r: 4.5 * this.large }, "start");
    for (const [spot, turn] of this.bars()) add(spot, "path", { class: "bar-between", d: turn ? `M${spot.x * UNIT},${(spot.y + 1) * UNIT}h${UNIT}` : `M${(spot.x + 1) * UNIT},${spot.y * UNIT}v${UNIT}` }, "wall");
  }

  // Walls between two neighbouring cells: in the true world, moves from one to the other have no effect.
  bars() {
    const { truth, actions } = this.world;
    if (!truth || !this.arrows) return [];
    const place = (x, y, floor) => `${x} ${y} ${floor}`;
    const stateAt = new Map(this.places.states.map(({ x, y, floor }, state) => [place(x, y, floor), state]));
    const blocked = (state, turn) => {
      const row = state * actions + this.directions.indexOf(turn);
      return !this.pits.has(state) && truth.indptr[row + 1] === truth.indptr[row] + 1 && truth.successors[truth.indptr[row]] === state;
    };
    return [0, 90].flatMap((turn) => this.places.states.flatMap((spot, state) => {
      const next = stateAt.get(place(spot.x + !turn, spot.y + Boolean(turn), spot.floor));
      return next !== undefined && blocked(state, turn) && blocked(next, turn + 180) ? [[spot, turn]] : [];
    }));
  }

  cell(spot, state, pick, hover) {
    const name = this.world.stateNames[state];
    const ground = this.shape(spot, "state");
    const faint = this.closed.has(state) ? 0.3 : null;
    const group = svg("g", { class: "cell", "data-state": state, id: `${this.id}-${state}`, role: "option", "aria-selected": "false", opacity: faint,
      onclick: () => pick(state), onpointerenter: () => hover(state) }, ground);
    const ink = svg("g", { opacity: faint });
    this.floors[spot.floor ?? 0].append(group);
    this.inks[spot.floor ?? 0].append(ink);
    const cell = { group, ground, name, arrows: null, text: null, marks: null, wind: null };
    const x = (spot.x + 0.5) * UNIT;
    if (this.hasText) {
      cell.text = svg("text", { class: "number", x, y: (spot.y + (this.places.kind === "grid" ? 0.27 : 0.3)) * UNIT });
      ink.append(cell.text);
    }
    if (this.places.kind === "graph") ink.append(svg("text", { class: "name", x, y: (spot.y + 1.14) * UNIT }, name.length > 12 ? `${name.slice(0, 11)}…` : name));
    if (this.hasText && spot.wind) {
      const force = `${spot.wind > 0 ? "↑" : "↓"}${Math.abs(spot.wind)}`;
      cell.wind = svg("text", { class: "wind", x: (spot.x + 0.81) * UNIT, y: (spot.y + 0.92) * UNIT }, force);
      ink.append(cell.wind);
    }
    if (this.hasText && spot.letter) ink.append(svg("text", { class: "letter", x: (spot.x + 0.15) * UNIT, y: (spot.y + 0.93) * UNIT }, spot.letter));
    if (this.hasActions && this.arrows) {
      const y = (spot.y + (this.hasText ? 0.78 : 0.5)) * UNIT;
      cell.arrows = this.directions.map(() => svg("path", { class: "arrow", visibility: "hidden" }));
      cell.centre = `translate(${x} ${y})`;
      ink.append(...cell.arrows);
    }
    if (this.hasActions && !(this.arrows && this.directions.every((turn) => turn !== undefined))) {
      cell.marks = svg("text", { class: "action", x, y: (spot.y + (this.hasText ? 0.87 : 0.62)) * UNIT });
      ink.append(cell.marks);
    }
    return cell;
  }

  // `colour` is [r, g, b] or a class name for a state without a number.
  paint(state, colour, text, played) {
    const cell = this.cells[state];
    const key = `${colour}|${text}|${played}`;
    if (this.shown[state] === key) return;
    this.shown[state] = key;
    const solid = Array.isArray(colour);
    const ink = solid && !this.closed.has(state) ? inkOn(colour) : "var(--ink)";
    cell.ground.setAttribute("class", solid ? "state" : `state ${colour}`);
    cell.ground.setAttribute("fill", solid ? css(colour) : "none");
    if (cell.text) {
      cell.text.textContent = text;
      cell.text.setAttribute("fill", ink);
    }
    if (cell.wind) cell.wind.setAttribute("fill", ink);
    cell.group.dataset.text = text;
    cell.group.dataset.actions = played.join(" ");
    const names = played.map((action) => this.world.actionNames[action]).join(" or ");
    cell.group.setAttribute("aria-label", `${cell.name}${this.pits.has(state) ? ", a pit" : ""}: ${[names || "no action", text].filter(Boolean).join(", ")}`);
    if (cell.arrows) this.paintArrows(cell, played, ink);
    if (cell.marks) {
      const marked = played.filter((action) => !cell.arrows || this.directions[action] === undefined);
      const words = marked.map((action) => this.world.actionNames[action].replace("give up", "↺")).join("/");
      cell.marks.textContent = words.length <= 9 ? words : marked.length === this.world.actions ? "any" : marked.map((action) => this.world.actionMarks[action]).join("·");
      cell.marks.classList.toggle("long", cell.marks.textContent.length > 5);
      cell.marks.setAttribute("fill", ink);
    }
  }

  paintArrows(cell, played, ink) {
    const alone = played.length === 1;
    const size = !this.hasText ? 1.5 : alone ? 1 : 0.85;
    cell.arrows.forEach((arrow, action) => {
      if (this.directions[action] === undefined) return;
      const look = played.includes(action) ? `${alone}${ink}` : "";
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
      arrow.setAttribute("transform", `${cell.centre} rotate(${this.directions[action]}) scale(${size})`);
    });
  }

  centre(state) {
    const { x, y } = this.places.states[state] ?? this.places.goals[0];
    return [(x + 0.5) * UNIT, (y + 0.5) * UNIT];
  }

  // The curve from a state to another: straight on a grid, bent in a graph so that both directions can be seen.
  way(from, to) {
    const b = this.goalNear(from, to);
    const a = this.floorOf(from) === this.floorOf(to) ? this.centre(from) : b;
    const bend = this.places.kind === "graph" ? Math.min(0.14, 36 / Math.max(1, Math.hypot(b[0] - a[0], b[1] - a[1]))) : 0;
    return [a, [(a[0] + b[0]) / 2 - bend * (b[1] - a[1]), (a[1] + b[1]) / 2 + bend * (b[0] - a[0])], b];
  }

  // The centre of the state `to`; among several goal cells, of the one nearest to `from`.
  goalNear(from, to) {
    if (to !== this.world.states) return this.centre(to);
    const a = this.centre(from);
    const goals = this.places.goals.map(({ x, y }) => [(x + 0.5) * UNIT, (y + 0.5) * UNIT]);
    return goals.sort((one, other) => Math.hypot(one[0] - a[0], one[1] - a[1]) - Math.hypot(other[0] - a[0], other[1] - a[1]))[0];
  }

  arrow(from, to, share, name = "") {
    const [a, middle, b] = this.way(from, to);
    const back = [b[0] - middle[0], b[1] - middle[1]];
    const reach = Math.hypot(...back) || 1;
    const gap = this.places.kind === "graph" ? 0.5 : 0.12;
    const tip = [b[0] - (back[0] / reach) * gap * UNIT, b[1] - (back[1] / reach) * gap * UNIT];
    const angle = (Math.atan2(back[1], back[0]) * 180) / Math.PI;
    return svg("g", { class: name, opacity: 0.3 + 0.7 * share },
      svg("path", { d: `M${a}Q${middle} ${tip}`, "stroke-width": 1 + 2.5 * share }),
      svg("path", { class: "tip", d: "M0,0L-9,-4.5L-9,4.5z", transform: `translate(${tip}) rotate(${angle})` }));
  }

  // In a graph: where actions can lead in the true world, faintly.
  possibleMoves() {
    const { truth, states, actions } = this.world;
    const group = svg("g", { class: "possible" });
    if (this.places.kind !== "graph") return group;
    for (let state = 0; state < states; state += 1) {
      const reached = new Set(truth.successors.subarray(truth.indptr[state * actions], truth.indptr[(state + 1) * actions]));
      reached.delete(state);
      if (reached.size <= 8) for (const successor of reached) group.append(svg("path", { d: `M${this.way(state, successor).slice(0, 2).join("Q")} ${this.way(state, successor)[2]}` }));
    }
    return group;
  }

  // Draws the transitions that the plan's actions have had so far: [from, to, share].
  drawEdges(edges) {
    if (this.places.kind === "graph") this.edges.replaceChildren(...edges.filter(([from, to]) => from !== to).map((edge) => this.arrow(...edge)));
  }

  // Draws lines to the successors that an agent imagines: [successor, probability].
  imagine(state, successors) {
    this.imagined.replaceChildren(...successors.map(([successor, chance]) => {
      if (successor !== state && this.floorOf(successor) === this.floorOf(state)) return this.arrow(state, successor, chance);
      const [x, y] = this.goalNear(state, successor);
      return svg("g", { opacity: 0.3 + 0.7 * chance }, svg("circle", { cx: x, cy: y, r: 15, fill: "none", "stroke-width": 1 + 2.5 * chance }));
    }));
  }

  // ---- the agent on its way

  walker(colour) {
    this.dot = svg("g", { class: "dot", visibility: "hidden" }, svg("circle", { r: 8.5 * this.large, class: "rim" }), svg("circle", { r: 5.8 * this.large, fill: colour }));
    this.word = svg("text", { class: "slip-word", visibility: "hidden" }, "slip");
    return svg("g", { class: "walker" }, this.dot, this.word);
  }

  // Shows the agent at the moment of its replay, `part` of the way through its next step.
  walk(replay, part = 0) {
    const next = part > 0 && replay.offset < replay.pathLength() ? replay.stepAt(replay.frame, replay.offset) : null;
    const { position } = replay;
    this.dot.setAttribute("visibility", position === null ? "hidden" : "visible");
    if (position === null) return;
    this.showFloor(this.floors[this.chosenFloor] ?? this.floorOf(position));
    if (this.floorOf(position) !== this.shownFloor) this.dot.setAttribute("visibility", "hidden");
    const last = replay.stepBefore();
    const [a, c, b] = next ? this.way(next.state, next.successor) : last ? this.way(last.state, last.successor) : [this.centre(position), this.centre(position), this.centre(position)];
    const t = next ? part : 1;
    const along = (axis) => (1 - t) ** 2 * a[axis] + 2 * t * (1 - t) * c[axis] + t ** 2 * b[axis];
    this.dot.setAttribute("transform", `translate(${along(0).toFixed(1)} ${along(1).toFixed(1)})`);
    const slipped = next ? part > 0.5 && replay.slipped(next) : last && replay.slipped(last) && replay.offset > 0;
    this.word.setAttribute("visibility", slipped ? "visible" : "hidden");
    if (slipped) this.word.setAttribute("transform", `translate(${along(0).toFixed(1)} ${(along(1) - 13 * this.large).toFixed(1)}) scale(${this.large})`);
    const moment = `${replay.frame} ${replay.offset} ${Boolean(next)} ${this.chosenFloor}`;
    if (moment !== this.moment) this.drawTrail(replay, next);
    this.moment = moment;
    const arrived = !next && replay.offset > 0 && position === this.world.states;
    this.host.classList.toggle("arrived", arrived);
  }

  // Draws the last steps of this trip; older steps are paler.
  drawTrail(replay, next) {
    let over = false;
    this.trail.forEach((line, back) => {
      const step = over ? null : replay.stepBefore(back + 1);
      over ||= !step || this.floorOf(step.state) !== this.shownFloor || this.world.actionNames[step.action] === "give up" || (step.successor === this.world.states && (back > 0 || Boolean(next)));
      line.setAttribute("visibility", over ? "hidden" : "visible");
      if (over) return;
      const [a, c, b] = this.way(step.state, step.successor);
      line.setAttribute("d", `M${a}Q${c} ${b}`);
      line.setAttribute("class", replay.slipped(step) ? "slip" : "");
      line.setAttribute("opacity", (0.75 * (1 - back / TRAIL)).toFixed(2));
    });
  }

  walls(walls) {
    this.cells.forEach((cell, state) => cell.group.classList.toggle("walled", walls.has(state)));
  }

  choose(state) {
    if (this.chosen !== undefined && this.chosen !== null) this.cells[this.chosen].group.setAttribute("aria-selected", "false");
    this.chosen = state;
    this.frame?.remove();
    if (state === null) {
      this.host.removeAttribute("aria-activedescendant");
      return;
    }
    this.frame = this.shape(this.places.states[state], "chosen");
    this.floorOf(state).append(this.frame);
    this.cells[state].group.setAttribute("aria-selected", "true");
    this.host.setAttribute("aria-activedescendant", `${this.id}-${state}`);
  }

  // Arrow keys on the map itself walk from state to state.
  move(event, pick) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const from = this.places.states[this.chosen ?? this.world.start];
    if (this.chosen === undefined || this.chosen === null) {
      pick(this.world.start);
      return;
    }
    let [best, found] = [Infinity, null];
    this.places.states.forEach((spot, state) => {
      const along = (spot.x - from.x) * step[0] + (spot.y - from.y) * step[1];
      const aside = Math.abs((spot.x - from.x) * step[1]) + Math.abs((spot.y - from.y) * step[0]);
      if (spot.floor === from.floor && along > 0.1 && along + 3 * aside < best) [best, found] = [along + 3 * aside, state];
    });
    if (found !== null) pick(found);
  }
}

class ListMap {
  // Lists states by name, at most the 400 most visited ones. Without a true model, it lists only visited states.
  constructor(world, label, pick, visits) {
    this.world = world;
    this.shown = [];
    const known = [...visits.keys()].filter((state) => world.truth || visits[state] || state === world.start);
    const listed = known.sort((one, other) => visits[other] - visits[one] || one - other).slice(0, LONGEST_LIST).sort((one, other) => one - other);
    this.cells = new Map(listed.map((state) => {
      const [patch, actions] = [el("td", { class: "patch right" }), el("td")];
      const row = el("tr", { class: "cell", "data-state": state, tabindex: "0", onclick: () => pick(state),
        onkeydown: (event) => event.key === "Enter" && pick(state) },
      el("td", {}, world.stateNames[state] + (state === world.start ? " (start)" : "")), patch, actions);
      return [state, { row, patch, actions }];
    }));
    const rest = world.states - listed.length;
    this.host = el("div", { class: "list-map", role: "group", "aria-label": label },
      el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "state"), el("th", { class: "right" }, "layer"), el("th", {}, "plays"))), el("tbody", {}, [...this.cells.values()].map(({ row }) => row))),
      rest > 0 ? el("p", { class: "small" }, `${rest.toLocaleString("en-US")} more states, which were visited less or never, are not listed`) : null);
  }

  paint(state, colour, text, played) {
    const key = `${colour}|${text}|${played}`;
    if (!this.cells.has(state) || this.shown[state] === key) return;
    this.shown[state] = key;
    const { row, patch, actions } = this.cells.get(state);
    const solid = Array.isArray(colour);
    patch.textContent = text;
    patch.style.background = solid ? css(colour) : "none";
    patch.style.color = solid ? inkOn(colour) : "inherit";
    row.dataset.actions = played.join(" ");
    row.dataset.text = text;
    actions.textContent = played.map((action) => this.world.actionNames[action]).join(" or ");
  }

  drawEdges() {}

  imagine() {}

  walk(replay) {
    this.cells.get(this.here)?.row.classList.remove("here");
    this.here = replay.position;
    const row = this.cells.get(this.here)?.row;
    row?.classList.add("here");
    if (row) this.host.scrollTop = row.offsetTop - 120;
  }

  walls(walls) {
    this.cells.forEach(({ row }, state) => row.classList.toggle("walled", walls.has(state)));
  }

  choose(state) {
    this.cells.forEach(({ row }, each) => row.classList.toggle("chosen", each === state));
  }
}
