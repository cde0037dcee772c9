// The page of `goalward watch` for goal tasks with continuous states: one or two agents, episode by episode.
import { choices, el } from "../shared/elements.js";
import { largest, number, quantile, whole } from "../shared/numbers.js";
import { amountColour } from "../shared/colours.js";
import { Chart } from "../shared/chart.js";
import { showPage } from "../shared/page.js";
import { AgentsPage, moveButton } from "./player.js";
import { ScaleBar, linearScale, logScale } from "./layers.js";
import { Plane } from "./plane.js";

const SPEEDS = [["10", "step", "10 steps a second"], ["100", "run", "100 steps a second"], ["1000", "fast", "1,000 steps a second"]];
const PLANE_LAYERS = {
  value: ["value", "the cost from here to the goal that the current plan expects"],
  visits: ["visits", "how often the agent has been here so far"],
};
const EARLIER = 12; // earlier episodes that are drawn
const VISIT_CELLS = [48, 30]; // cells along the axes of a plane, for counting visits

// One agent: its episodes, and its plan at each step.
class Track {
  constructor(agent, dimensions) {
    Object.assign(this, agent);
    this.dimensions = dimensions;
    this.firstSteps = [0];
    for (const steps of this.steps) this.firstSteps.push(this.firstSteps.at(-1) + steps);
  }

  get episodes() {
    return this.steps.length;
  }

  // The stored points of an episode; `now` is the number of them before the step `step`.
  episode(index, step = Infinity) {
    const { path, dimensions } = this;
    const [from, to] = [path.starts[index], path.starts[index + 1]];
    const now = step >= this.steps[index] ? to - from : Math.floor(step / path.every[index]);
    return { points: path.points.subarray(from * dimensions, to * dimensions), last: path.last.subarray(index * dimensions, (index + 1) * dimensions), count: to - from, now };
  }

  action(index, step) {
    return step >= this.steps[index] ? null : this.path.actions[this.path.starts[index] + Math.floor(step / this.path.every[index])];
  }

  epochAt(index, step) {
    const at = this.firstSteps[index] + Math.min(step, this.steps[index] - 1);
    let [low, high] = [0, this.epochStarts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.epochStarts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // The epoch whose values are shown: `epoch`, or the last one before it whose values are on the page.
  shownEpoch(epoch) {
    return this.values ? Math.floor(epoch / this.values.every) * this.values.every : null;
  }

  valuesAt(epoch, plane) {
    const all = this.values.planes[plane];
    const frames = Math.ceil(this.epochStarts.length / this.values.every);
    const size = all.length / frames;
    const frame = Math.floor(epoch / this.values.every);
    return all.subarray(frame * size, (frame + 1) * size);
  }
}

class PlanesPage extends AgentsPage {
  constructor(data) {
    super(data);
    this.tracks = data.agents.map((agent) => new Track(agent, data.task.low.length));
    const far = this.tracks.map(({ steps }) => largest(steps, 1) / Math.max(steps.reduce((one, other) => Math.min(one, other), Infinity), 1));
    this.planes = [];
    this.layerNames = Object.keys(PLANE_LAYERS).filter((name) => name !== "value" || this.tracks.some((track) => track.values));
    this.begin({ episode: 1, step: 0, layer: this.layerNames[0], plane: 0, axes: Math.max(...far) > 12 ? "log" : "linear", speed: "100" });
  }

  get agents() {
    return this.tracks;
  }

  get last() {
    return Math.max(...this.tracks.map((track) => track.episodes)) - 1;
  }

  // The number of steps of the current episode; with two agents, of the longer of both.
  get length() {
    return Math.max(...this.tracks.map((track) => track.steps[this.episode] ?? 0));
  }

  // ---- building

  build() {
    const { task } = this.data;
    const facts = [`${task.low.length} dimension${task.low.length > 1 ? "s" : ""}, ${task.actions.length} actions`, "the true model is not known"];
    document.getElementById("page").replaceChildren(
      this.agentsHeader(facts),
      el("p", { class: "intro" }, `The agent ○ must reach the striped goal at the lowest cost, again and again. Each trip is an episode. The agent does not know how its actions change ${task.coordinates.join(" and ")} and learns this by trying. The white line is the path of the agent in this episode. Press play to watch the agent.`),
      this.notes((track) => this.notesOf(track)), this.buildControls(),
      this.cards((track) => this.buildPlane(track)),
      this.buildScale(), this.buildChart(),
      this.footer("Keys: space plays or pauses, + and − change the speed, ← → change the episode, shift + ← → move by ten steps, 1 and 2 change the layer. "));
    this.playerMap = this.planes[0].host;
    this.placePlayer();
  }

  notesOf(track) {
    const notes = [];
    if (!track.values) notes.push(`The plans of ${track.label} have no values that this page can draw.`);
    else if (track.values.every > 1) notes.push(`This page has the values of ${track.label} for one in ${whole(track.values.every)} epochs. In the other epochs, the page shows earlier values.`);
    const every = largest(track.path.every, 1);
    if (every > 1) notes.push(`In long episodes of ${track.label}, the page shows only one in up to ${whole(every)} steps.`);
    if (track === this.tracks.at(-1) && this.data.task.low.length > 2) notes.push("A plane shows two of the coordinates. It is striped where at least one goal state has these two coordinates.");
    return notes;
  }

  buildControls() {
    const { task, planes } = this.data;
    const slider = (name, act) => el("input", { type: "range", min: 0, value: 0, "aria-label": name, oninput: act });
    this.slider = slider("episode", () => this.go(Number(this.slider.value)));
    this.slider.max = this.last;
    this.label = el("output", { class: "epoch-label" });
    this.stepSlider = slider("step", () => this.moveTo(Number(this.stepSlider.value)));
    this.stepLabel = el("output", { class: "epoch-label" });
    this.layers = choices("layer", this.layerNames.map((name) => [name, ...PLANE_LAYERS[name]]), (layer) => this.setLayer(layer));
    this.planeChoice = el("select", { "aria-label": "coordinates", hidden: planes.length < 2, onchange: () => { this.address.set({ plane: this.planeChoice.value }); this.draw(); } },
      planes.map(({ axes }, place) => el("option", { value: place }, axes.map((axis) => task.coordinates[axis]).join(" × "))));
    return this.controlsOf([
      el("div", { class: "time" }, moveButton("first", "first episode", () => this.go(0)), moveButton("back", "previous episode", () => this.go(this.episode - 1)),
        moveButton("on", "next episode", () => this.go(this.episode + 1)), moveButton("last", "last episode", () => this.go(this.last)), this.slider, this.label),
      el("div", { class: "time" }, this.playControl(), this.stepSlider, this.stepLabel)],
      el("div", { class: "options" }, el("span", { class: "caption" }, "show"), this.layers, this.planeChoice, el("span", { class: "space" }), this.speedControl(SPEEDS)));
  }

  buildPlane(track) {
    const plane = new Plane(this.data.task, `${track.label}: the chosen episode and the layer`);
    this.planes.push(plane);
    return plane.host;
  }

  buildScale() {
    this.scaleBar = new ScaleBar(el("span", {}, el("i", { class: "stripes" }), "goal"), el("span", {}, el("i", { class: "trace" }), "this episode so far; pale lines: the rest of this episode, and earlier episodes"));
    return this.scaleBar.host;
  }

  buildChart() {
    this.chart = new Chart({ label: "steps of each episode", xLabel: "episode", yLabel: "steps", height: 280, pick: (episode) => this.go(Math.round(episode) - 1) });
    this.axes = choices("axes", [["linear", "linear"], ["log", "log"]], (axes) => { this.address.set({ axes }); this.drawChart(); });
    return el("section", { class: "card regret" }, el("div", { class: "card-head" }, el("h2", {}, "Steps per episode"), this.axes), this.chart.host);
  }

  // ---- the view

  readView() {
    const { view } = this;
    if (!this.layerNames.includes(view.layer)) [view.layer] = this.layerNames;
    this.readSpeed();
    if (!this.data.planes[Number(view.plane)]) view.plane = 0;
    this.planeChoice.value = view.plane;
    this.go((Number(view.episode) || 1) - 1, view.step === "end" ? Infinity : Number(view.step) || 0);
    this.drawChart();
  }

  keys(event) {
    // On a slider, the arrows move the slider.
    const move = (by) => () => !event.target.matches("input[type=range]") && (event.shiftKey ? this.moveTo(this.step + 10 * by) : this.go(this.episode + by));
    return {
      ...this.playKeys(event), ArrowLeft: move(-1), ArrowRight: move(1), Home: move(-Infinity), End: move(Infinity),
      ...Object.fromEntries(this.layerNames.map((layer, place) => [place + 1, () => this.setLayer(layer)])),
    };
  }

  setLayer(layer) {
    this.address.set({ layer });
    this.draw();
  }

  go(episode, step = Infinity) {
    this.episode = Math.min(Math.max(episode, 0), this.last);
    this.slider.value = this.episode;
    this.label.textContent = `episode ${whole(this.episode + 1)} of ${whole(this.last + 1)}`;
    this.stepSlider.max = this.length;
    this.chart.moveTo(this.episode + 1);
    this.moveTo(step);
  }

  moveTo(step) {
    this.step = Math.min(Math.max(Math.floor(step), 0), this.length);
    this.stepSlider.value = this.step;
    this.stepLabel.textContent = `step ${whole(this.step)} of ${whole(this.length)}`;
    this.address.set({ episode: this.episode + 1, step: this.step && this.step === this.length ? "end" : this.step });
    this.draw();
  }

  get over() {
    return this.step >= this.length && this.episode >= this.last;
  }

  rewind() {
    this.go(this.episode, 0);
  }

  advance(seconds) {
    this.owed = (this.owed ?? 0) + seconds * Number(this.view.speed);
    const steps = Math.floor(this.owed);
    this.owed -= steps;
    if (this.step >= this.length) this.go(this.episode + 1, 0);
    else if (steps) this.moveTo(this.step + steps);
  }

  // ---- drawing

  drawChart() {
    const axes = this.view.axes === "log" ? "log" : "linear";
    this.axes.show(axes);
    this.chart.draw({ axes, moving: true, now: this.episode + 1, last: this.data.episodes, labels: true, empty: "no episode is over yet",
      series: this.tracks.map((track) => ({ label: track.label, style: track.style, x: Array.from(track.steps, (_, place) => place + 1), y: Array.from(track.steps), cut: Boolean(track.truncation) })) });
  }

  draw() {
    const { scale } = this;
    this.scaleBar.show(PLANE_LAYERS[this.view.layer], scale);
    this.layers.show(this.view.layer);
    const plane = this.data.planes[Number(this.view.plane)];
    this.tracks.forEach((track, place) => {
      const known = this.episode < track.episodes;
      const index = Math.min(this.episode, track.episodes - 1);
      const step = known ? Math.min(this.step, track.steps[index]) : track.steps[index];
      const epoch = track.epochAt(index, step);
      const earlier = [];
      for (let each = Math.max(index - EARLIER, 0); each < index; each += 1) earlier.push(track.episode(each));
      this.planes[place].draw({ plane, layer: this.layerOf(track, epoch, index, step, scale, plane), earlier, chosen: track.episode(index, step) });
      this.describe(track, this.captions[place], known, index, step, epoch);
      this.planes[place].host.dataset.epoch = track.shownEpoch(epoch) ?? "";
    });
  }

  describe(track, caption, known, index, step, epoch) {
    const { actions } = this.data.task;
    const state = track.episode(index, step);
    const m = track.dimensions;
    const at = state.now < state.count ? state.points.subarray(state.now * m, (state.now + 1) * m) : state.last;
    const where = Array.from(at, (value, axis) => `${this.data.task.coordinates[axis]} ${number(value)}`).join(", ");
    const action = track.action(index, step);
    caption.now.textContent = known
      ? `episode ${whole(index + 1)}: ${whole(track.steps[index])} steps, cost ${number(track.costs[index], 4)}`
      : `the run ended in episode ${whole(index + 1)}`;
    const started = track.epochStarts[epoch] - track.firstSteps[index];
    const since = started >= 0 ? `made at step ${whole(started)} of this episode` : "made in an earlier episode";
    const ends = index === track.episodes - 1 && track.truncation ? "the run was cut off here" : "the goal is reached";
    caption.why.textContent = `step ${whole(step)}: ${where}; ${action === null ? ends : `plays ${actions[action]}`}. Plan of epoch ${whole(epoch + 1)} of ${whole(track.epochStarts.length)}, ${since}.`;
  }

  layerOf(track, epoch, index, step, scale, plane) {
    const colour = (value) => scale.colour(scale.share(value));
    const { axes } = plane;
    if (this.view.layer === "visits") return { ...this.visits(track, index, step, axes), colour };
    if (!track.values) return null;
    return { x: track.values.axes[axes[0]], y: axes.length > 1 ? track.values.axes[axes[1]] : [0], values: track.valuesAt(epoch, Number(this.view.plane)), colour };
  }

  // The number of visits of each cell of a regular grid on the plane; NaN for cells without visits.
  visits(track, index, step, axes) {
    const { low, high } = this.data.task;
    const sizes = axes.map((_, place) => VISIT_CELLS[place]);
    const counts = new Float64Array(sizes.reduce((one, other) => one * other, 1)).fill(NaN);
    const cell = (value, place) => Math.min(Math.max(Math.floor(((value - low[axes[place]]) / (high[axes[place]] - low[axes[place]])) * sizes[place]), 0), sizes[place] - 1);
    for (let each = 0; each <= index; each += 1) {
      const { points, count, now } = track.episode(each, each < index ? Infinity : step);
      const weight = track.path.every[each];
      for (let point = 0; point < Math.min(now, count); point += 1) {
        const at = axes.reduce((sum, axis, place) => sum * sizes[place] + cell(points[point * track.dimensions + axis], place), 0);
        counts[at] = (counts[at] || 0) + weight;
      }
    }
    const centres = (place) => Array.from({ length: sizes[place] }, (_, i) => low[axes[place]] + ((high[axes[place]] - low[axes[place]]) * (i + 0.5)) / sizes[place]);
    return { x: centres(0), y: axes.length > 1 ? centres(1) : [0], values: counts };
  }

  // The scale of a layer is the same for both agents and for the whole run.
  get scale() {
    const { layer, plane } = this.view;
    const key = `${layer} ${plane}`;
    if (this.scaleOf === key) return this.scaleNow;
    this.scaleOf = key;
    if (layer === "visits") {
      const { axes } = this.data.planes[Number(plane)];
      this.scaleNow = logScale(Math.max(2, ...this.tracks.map((track) => this.visits(track, track.episodes - 1, Infinity, axes).values.reduce((one, other) => Math.max(one, other || 0), 0))), amountColour);
    } else {
      this.scaleNow = linearScale(Math.max(1e-9, ...this.tracks.filter((track) => track.values).map((track) => quantile(track.values.planes[Number(plane)], 0.98))), amountColour, true);
    }
    return this.scaleNow;
  }
}

showPage(PlanesPage);
