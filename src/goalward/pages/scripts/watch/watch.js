// The page of `goalward watch`: one or two agents learn in a world, step by step and epoch by epoch.
import { choices, el, svg, toggle } from "../shared/elements.js";
import { cellNumber, number, shortCount, whole } from "../shared/numbers.js";
import { inflate, resolve } from "../shared/data.js";
import { Chart, nearest } from "../shared/chart.js";
import { showPage } from "../shared/page.js";
import { AgentsPage, moveButton } from "./player.js";
import { Replay } from "./replay.js";
import { placesOf } from "./places.js";
import { PIT, closedOf, pitsOf, worldMap } from "./map.js";
import { CellView, WhatIf } from "./inspector.js";
import { LAYERS, ScaleBar, amountIn, layerScale, offered } from "./layers.js";
import { captionOf, introduction, lastTripsCompared, percent, readingGuide, stepInWords, whereTo } from "./captions.js";

const SPEEDS = [["step", "step", "three steps a second"], ["run", "run", "fifteen steps a second"], ["epoch", "epoch", "about an epoch a second"], ["fast", "fast", "twenty epochs a second"]];
const STEPS_A_SECOND = { step: 3, run: 15 };
const EPOCHS_A_SECOND = 20;
const SECONDS_AT_THE_GOAL = 0.5;
const MEASURES = {
  gap_regret: ["gap regret", "the sum of the expected extra costs of all actions that the agent played"],
  regret: ["realised regret", "the cost that the agent paid, minus the average cost of the best policy in as many episodes (includes chance)"],
  cost: ["cost so far", "all costs paid"],
  steps: ["steps per episode", "how many steps each trip took"],
};

class WatchPage extends AgentsPage {
  constructor(data) {
    super(data);
    this.world = data.world;
    this.replays = data.agents.map((agent, place) => new Replay({ ...agent, style: { ...agent.style, dashes: place ? [3, 1.5] : [] } }, this.world));
    this.places = placesOf(this.world);
    this.maps = [];
    this.part = 0;
    this.stillness = matchMedia("(prefers-reduced-motion: reduce)");
    // The last frame of an unfinished run shows the current moment.
    this.unfinished = this.streaming = data.live;
    this.layerNames = Object.keys(LAYERS).filter((name) => offered(name, this.world, this.replays));
    this.measureNames = this.replays[0].optimalValue === null ? ["cost", "steps"] : ["gap_regret", "regret", "steps"];
    // If the start is alone on its floor, as in Taxi, the page opens after the first step.
    const { floors, states } = this.places;
    const alone = floors && states.filter(({ floor }) => floor === states[this.world.start].floor).length === 1;
    this.begin({
      epoch: 1, step: alone ? 1 : 0, lead: 0, agents: "both", layer: this.layerNames[0], cell: "", of: 0, action: "", regret: this.measureNames[0], clock: "episodes",
      axes: this.apart() ? "log" : "linear", walls: "", costs: "", model: "plan", speed: "step", floor: "",
    });
    if (data.live) this.listenToServer();
  }

  get agents() {
    return this.replays;
  }

  // Whether linear axes would hide one of the curves.
  apart() {
    const ends = this.replays.map(({ curve }) => (curve.gap_regret ?? curve.cost).at(-1) ?? NaN).filter((end) => end > 0);
    return ends.length > 1 && Math.max(...ends) > 12 * Math.min(...ends);
  }

  get lead() {
    return this.replays[Math.min(Number(this.view.lead) || 0, this.replays.length - 1)];
  }

  get visible() {
    return this.replays.filter((_, place) => this.view.agents === "both" || this.view.agents === String(place));
  }

  // ---- building

  build() {
    const { world, replays } = this;
    const best = replays[0].optimalValue;
    const facts = [
      `${whole(world.states)} states and the goal, ${world.actions} actions`,
      best === null ? "the true model is not known" : `the best policy pays ${number(best)} per episode`,
    ];
    this.status = el("span", { class: "live", hidden: !this.data.live }, "live");
    this.helpButton = el("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick: () => this.toggleHelp() }, "keys");
    document.getElementById("page").replaceChildren(
      this.agentsHeader(facts, this.status, this.helpButton),
      el("p", { class: "intro" }, introduction(world, replays)), this.buildHelp(), this.buildControls(),
      el("div", { class: "stage" }, el("div", {}, this.cards((replay) => this.buildMap(replay), this.places.kind), this.buildScale()), this.buildCell()),
      this.buildRegret(), this.notes((replay) => this.notesOf(replay)), this.footer());
    if (replays.length > 1) this.captions.forEach(({ head }, place) => head.append(this.leadButtons[place]));
  }

  buildHelp() {
    const keys = [["space", "play or pause"], [", .", "previous or next step"], ["← →", "previous or next epoch"], ["shift + ← →", "ten epochs back or forward"], ["home, end", "first or last epoch"],
      [`1 – ${this.layerNames.length}`, "layers"], ["+ −", "faster or slower"], ["l", "follow the other agent"], ["esc", "close the cell"], ["tab, arrows", "move between states, if a map has the focus"]];
    this.help = el("dl", { class: "keys", hidden: true }, keys.map(([key, what]) => [el("dt", {}, key), el("dd", {}, what)]));
    return this.help;
  }

  notesOf(replay) {
    const notes = [];
    if (replay.optimist) notes.push(`${replay.label} is an optimistic algorithm with the constants of its theorem. The agent plans in the best model that its experience does not rule out. A short run rules out few models, so the agent seems to play at random.`);
    if (!replay.hasPlans) notes.push(`${replay.label} does not plan in epochs. The page shows ${whole(replay.count)} snapshots of the agent.`);
    else if (replay.count - 1 < replay.epochs) notes.push(`${replay.label} had ${whole(replay.epochs)} epochs. This page shows ${whole(replay.count - 1)} of them: the first epochs, and then evenly spaced epochs. Counts and curves are complete.`);
    if (!replay.frames.values) notes.push(`${replay.label} estimates no costs, so its maps have no values.`);
    if (replay.models?.every > 1) notes.push(`This page has the model of only every ${ordinal(replay.models.every)} epoch of ${replay.label}.`);
    if (replay.frames.steps.some((steps, frame) => steps > replay.pathLength(frame))) notes.push(`In long ${replay.unit}s of ${replay.label}, the page shows only the first steps one by one.`);
    return notes;
  }

  buildControls() {
    const byEpochs = (by) => () => this.go(this.lead.frame + by);
    this.slider = el("input", { type: "range", min: 0, max: this.lead.last, value: 0, step: "any", "aria-label": "epoch", oninput: () => this.slide(Number(this.slider.value)) });
    this.marks = svg("svg", { class: "slider-marks", viewBox: "0 0 1000 8", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.label = el("output", { class: "epoch-label" });
    this.leadButtons = this.replays.map((replay, place) => toggle("follow", () => this.setLead(String(place)), `the slider moves through the ${replay.unit}s of ${replay.label}`));
    this.agentChoice = this.replays.length > 1 ? choices("agents", [["both", "both"], ...this.replays.map((replay, place) => [String(place), replay.label])], (agents) => this.setAgents(agents)) : null;
    this.layers = choices("layer", this.layerNames.map((name) => [name, ...LAYERS[name]]), (layer) => this.setLayer(layer));
    this.eventList = el("div", { class: "events", role: "group", "aria-label": "events" });
    return this.controlsOf(
      el("div", { class: "time" },
        moveButton("first", "first epoch", () => this.go(0)), moveButton("back", "previous epoch", byEpochs(-1)), moveButton("stepBack", "previous step", () => this.step(-1)), this.playControl(),
        moveButton("step", "next step", () => this.step(1)), moveButton("on", "next epoch", byEpochs(1)), moveButton("last", this.unfinished ? "newest epoch" : "end of the run", () => this.go(this.lead.last)),
        el("div", { class: "slider" }, this.slider, this.marks), this.label),
      el("div", { class: "options" }, el("span", {}, el("span", { class: "caption" }, "speed "), this.speedControl(SPEEDS)), el("span", {}, el("span", { class: "caption" }, "show "), this.layers), this.agentChoice),
      this.eventList);
  }

  buildMap(replay) {
    const place = this.maps.length;
    const map = worldMap(this.world, this.places, `${replay.label}: plan and layer`, replay.style.colour, (state) => this.pick(state, place), (state) => this.hover(place, state), replay.total);
    this.maps.push(map);
    return el("div", { class: "map-host" }, this.buildFloors(map), map.host);
  }

  // Chooses the visible floor of a world with several floors: the agent's, or a fixed one.
  buildFloors(map) {
    const { floors, states, goals } = this.places;
    if (!floors) return null;
    const closed = closedOf(this.world);
    const used = new Set([...states.filter((_, state) => !closed.has(state)), ...goals].map(({ floor }) => floor));
    map.floorChoice = el("select", { "aria-label": "floor", onchange: () => { this.setFloor(map.floorChoice.value); this.walk(); } },
      el("option", { value: "" }), floors.map((name, place) => (used.has(place) ? el("option", { value: place }, name) : null)));
    return map.floorChoice;
  }

  setFloor(floor) {
    this.address.set({ floor });
    for (const map of this.places.floors ? this.maps : []) {
      map.floorChoice.value = floor;
      map.chosenFloor = floor === "" ? -1 : Number(floor);
    }
  }

  buildScale() {
    const signs = [
      ["start", "circle", { class: "start", cx: 8, cy: 8, r: 4.5 }],
      ["goal", "path", { class: "star", d: "M8,1L9.9,6.1L15,6.1L11,9.3L12.5,14.5L8,11.4L3.5,14.5L5,9.3L1,6.1L6.1,6.1z" }],
      ["the agent", "circle", { class: "rim agent-sign", cx: 8, cy: 8, r: 5 }],
    ];
    if (this.places.walls?.length) signs.push(["wall", "rect", { class: "wall", x: 2, y: 2, width: 12, height: 12 }]);
    if (pitsOf(this.world).size) signs.push(["pit: the only way out is to give up", "path", { class: "pit", d: PIT, transform: "translate(8 9) scale(0.65)" }]);
    if (this.places.states?.some(({ letter }) => letter)) signs.push(["letters: the kinds of ground on the map of the world"]);
    if (this.places.kind !== "list" && !this.places.floors && closedOf(this.world).size) signs.push(["no step leads here", "path", { class: "closed", d: "M2,2L14,14M14,2L2,14" }]);
    if (this.world.actionNames.includes("give up")) signs.push(["↺ give up: return to the start, at a cost"]);
    if (this.replays.some((replay) => replay.canSlip)) signs.push(["slip: a step with an unusual outcome", "path", { class: "slip-sign", d: "M1,8H15" }]);
    if (this.places.kind === "graph") signs.push(["dark line: an observed step of the plan", "path", { class: "edge", d: "M1,12Q8,0 15,8" }], ["faint line: a possible step in the true model", "path", { class: "edge", opacity: 0.3, d: "M1,12Q8,0 15,8" }]);
    signs.push(["on the slider: the end of an episode", "path", { class: "episode-sign", d: "M8,2V14" }]);
    this.scaleBar = new ScaleBar(...signs.map(([text, tag, shape]) =>
      el("span", {}, tag ? svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, svg(tag, shape)) : null, text)));
    return this.scaleBar.host;
  }

  buildRegret() {
    this.regretChart = new Chart({ label: "regret along the episodes", xLabel: "episode", yLabel: "regret", height: 260, pick: (at) => this.goToChart(at) });
    const redraw = (name) => (value) => { this.address.set({ [name]: value }); this.drawRegret(); this.go(this.lead.frame, this.lead.offset); };
    this.measures = choices("measure", this.measureNames.map((name) => [name, ...MEASURES[name]]), redraw("regret"));
    this.axes = choices("axes", [["linear", "linear"], ["log", "log"]], redraw("axes"));
    this.clock = choices("clock", [["episodes", "by episodes", "both agents are shown in the same episode"], ["steps", "by steps", "both agents are shown after the same number of steps"]], redraw("clock"));
    this.verdict = el("p", { class: "verdict-line" });
    this.meaning = el("p", { class: "small" });
    this.regretTitle = el("h2");
    return el("section", { class: "card regret" },
      el("div", { class: "card-head" }, this.regretTitle, el("div", { class: "options" }, this.measures, this.clock, this.axes)),
      this.verdict, this.meaning, this.regretChart.host);
  }

  buildCell() {
    this.cellView = new CellView(this.world, this.replays, (action) => {
      this.address.set({ action });
      this.showCell();
    }, (action) => this.hover(this.of, action === null ? null : this.chosen, action));
    this.cellTitle = el("h2");
    this.closeCell = el("button", { type: "button", class: "quiet", onclick: () => this.pick(null) }, "close");
    this.ofChoice = this.replays.length > 1 ? choices("agent", this.replays.map((replay, place) => [String(place), replay.label]), (of) => { this.address.set({ of }); this.showCell(); }) : null;
    this.cellHint = el("div", { class: "hint" },
      [...readingGuide(this.replays, this.places.kind), ["Point at a state", "to see where the agent imagines that its action leads."], ["Click a state", "to see where each action leads, and where the agent believes that the action leads."]]
        .map(([word, meaning]) => el("p", {}, el("b", {}, word), ` ${meaning}`)));
    this.whatIf = new WhatIf(this);
    this.cellBody = el("div", {}, this.ofChoice, this.cellView.host, this.whatIf.host);
    this.cellCard = el("section", { class: "card cell-card", id: "cell", "aria-label": "the chosen state" }, el("div", { class: "card-head" }, this.cellTitle, this.closeCell), this.cellHint, this.cellBody);
    return this.cellCard;
  }

  // ---- the view

  readView() {
    const { view } = this;
    const { epoch, step } = view;
    this.whatIf.read(view);
    if (!this.layerNames.includes(view.layer)) view.layer = this.layerNames[0];
    if (!this.measureNames.includes(view.regret)) [view.regret] = this.measureNames;
    this.readSpeed();
    this.chosen = this.readCell(view.cell);
    this.setFloor(view.floor);
    this.setAgents(view.agents);
    this.showWalls();
    this.maps.forEach((map) => map.choose(this.chosen));
    this.painted = false;
    this.go(epoch === "end" ? this.lead.last : this.frameOf(Number(epoch) || 1), Number(step) || 0);
    this.setLayer(view.layer);
    this.showMapAboveSheet();
  }

  // The URL counts epochs from 1; the page may have frames for only some of them.
  frameOf(epoch) {
    return nearest(this.lead.frames.epoch, epoch - 1);
  }

  // A cell is "row,column" on a grid, or the number of a state.
  readCell(text) {
    if (text === "") return null;
    const parts = text.split(",").map(Number);
    const { layout } = this.world;
    if (layout && parts.length === 2) {
      const found = layout.cells.indexOf(parts[0] * layout.columns + parts[1]);
      return found >= 0 ? found : null;
    }
    return Number.isInteger(parts[0]) && parts[0] >= 0 && parts[0] < this.world.states ? parts[0] : null;
  }

  cellText(state) {
    const { layout } = this.world;
    if (state === null) return "";
    return layout ? `${Math.floor(layout.cells[state] / layout.columns)},${layout.cells[state] % layout.columns}` : String(state);
  }

  setAgents(agents) {
    const known = agents === "both" || this.replays[Number(agents)];
    this.address.set({ agents: known ? agents : "both" });
    this.agentChoice?.show(this.view.agents);
    this.captions.forEach(({ card }, place) => { card.hidden = !this.visible.includes(this.replays[place]); });
    this.setLead(this.visible.includes(this.lead) ? this.view.lead : this.replays.indexOf(this.visible[0]));
    this.drawRegret();
  }

  setLead(lead) {
    const { time } = this.lead;
    const { episode, steps } = this.lead.moment;
    const atEnd = this.lead.frame === this.lead.last;
    this.address.set({ lead });
    this.leadButtons.forEach((button, place) => { button.show(String(place) === String(lead)); button.hidden = this.visible.length < 2; });
    this.playerMap = this.maps[this.replays.indexOf(this.lead)].host.parentElement;
    this.placePlayer();
    this.slider.max = this.lead.last;
    this.drawMarks();
    this.drawEvents();
    if (atEnd) this.go(this.lead.last);
    else this.goToTime(this.view.clock === "steps" ? time : Math.min((episode ? this.lead.ends[episode - 1] : 0) + steps, this.lead.ends[episode] ?? Infinity));
  }

  setLayer(layer) {
    if (layer === "replanned" && !this.whatIf.plans) this.whatIf.replan();
    this.address.set({ layer });
    this.layers.show(layer);
    this.paint();
  }

  pick(state, place = this.of) {
    this.chosen = state;
    this.address.set({ cell: this.cellText(state), action: "", of: place });
    this.maps.forEach((map) => map.choose(state));
    this.showCell();
    this.showMapAboveSheet();
  }

  // On a narrow screen, the panel of the chosen state covers the bottom, so the map is scrolled into view above it.
  showMapAboveSheet() {
    if (this.chosen !== null && getComputedStyle(this.cellCard).position === "fixed") this.maps[this.of].host.scrollIntoView({ block: "start" });
  }

  get of() {
    const place = Number(this.view.of) || 0;
    return this.visible.includes(this.replays[place]) ? place : this.replays.indexOf(this.visible[0]);
  }

  slide(value) {
    const frame = Math.min(Math.floor(value), this.lead.last);
    this.go(frame, Math.round((value - frame) * this.lead.pathLength(frame)));
  }

  // Moves to a frame of the leading agent and a number of steps in it; the other agent follows.
  go(frame, offset = 0) {
    const { lead } = this;
    const before = this.replays.map((replay) => replay.frame).join();
    const over = this.replays.map((replay) => replay.epochOver).join();
    lead.moveTo(frame, offset);
    this.part = this.waited = 0;
    this.follow();
    const atEnd = lead.frame === lead.last;
    const { epoch } = lead.frames;
    this.slider.value = lead.frame + (lead.offset === 0 ? 0 : (0.999 * lead.offset) / lead.pathLength());
    this.label.textContent = atEnd ? `${this.unfinished ? "now" : "end"} · ${whole(lead.epochs)} ${lead.unit}s` : `${lead.unit} ${whole(epoch[lead.frame] + 1)} of ${whole(lead.epochs)}`;
    this.address.set({ epoch: atEnd ? "end" : epoch[lead.frame] + 1, step: lead.offset });
    if (!this.painted || before !== this.replays.map((replay) => replay.frame).join()) {
      this.painted = true;
      if (this.whatIf.plans) this.whatIf.replan();
      this.paint();
      this.showCell();
    } else if (over !== this.replays.map((replay) => replay.epochOver).join()) this.describe();
    this.walk();
    this.slider.setAttribute("aria-valuetext", `${this.label.textContent}, ${this.captions[this.replays.indexOf(lead)].step.textContent}`);
    const now = this.view.clock === "steps" ? lead.time : lead.moment.episode + (lead.moment.arrived ? 1 : 0);
    this.regretChart.moveTo(now);
    this.cellView.moveTo(now);
    this.markEvent();
  }

  // Shows the other agent after the same number of steps of the same episode or, by steps, of the whole run.
  follow() {
    const { lead } = this;
    this.moving = this.replays.map(() => true);
    this.replays.forEach((replay, place) => {
      if (replay === lead) return;
      const { episode, steps, arrived } = lead.moment;
      if (lead.frame === lead.last) replay.moveTo(replay.last);
      else if (this.view.clock === "steps") replay.moveToTime(lead.time);
      else if (episode > replay.ends.length) replay.moveTo(replay.last);
      else {
        const [begin, end] = [episode ? replay.ends[episode - 1] : 0, replay.ends[episode] ?? Infinity];
        replay.moveToTime(arrived ? Math.max(begin, Math.min(begin + steps, end)) : Math.min(begin + steps, end));
        this.moving[place] = !arrived && begin + steps < end;
      }
    });
  }

  // Draws the agents on their maps, each after the share `part` of its next step.
  walk() {
    this.replays.forEach((replay, place) => {
      const map = this.maps[place];
      map.walk(replay, this.moving[place] && !this.stillness.matches ? this.part : 0);
      if (map.floorChoice) map.floorChoice.options[0].text = `the agent's: ${this.places.floors[map.floors.indexOf(map.shownFloor)]}`;
      this.captions[place].step.textContent = stepInWords(replay, this.unfinished);
    });
  }

  step(by) {
    const { lead } = this;
    const offset = lead.offset + by;
    if (offset < 0) this.go(lead.frame - 1, Infinity);
    else if (offset > lead.pathLength()) this.go(lead.frame + 1, Math.min(1, lead.pathLength(Math.min(lead.frame + 1, lead.last))));
    else this.go(lead.frame, offset);
  }

  goToTime(time) {
    this.lead.moveToTime(time);
    this.painted = false;
    this.go(this.lead.frame, this.lead.offset);
  }

  goToChart(at) {
    this.goToTime(this.view.clock === "steps" ? Math.round(at) : this.lead.ends[Math.min(Math.round(at), this.lead.ends.length) - 1] ?? 0);
  }

  get over() {
    return this.lead.frame >= this.lead.last && !this.streaming;
  }

  rewind() {
    this.go(0);
  }

  advance(seconds) {
    const { lead } = this;
    const { speed } = this.view;
    const length = lead.pathLength();
    if (speed === "fast" || lead.frame === lead.last) {
      this.owed = (this.owed ?? 0) + EPOCHS_A_SECOND * seconds;
      const epochs = Math.floor(this.owed);
      this.owed -= epochs;
      if (epochs) this.go(lead.frame + epochs, Infinity);
      return;
    }
    // Pause at the goal, so that the arrival can be seen.
    if (speed === "step" && lead.moment.arrived && this.waited < SECONDS_AT_THE_GOAL) {
      this.waited += seconds;
      return;
    }
    const way = lead.offset + this.part + seconds * (STEPS_A_SECOND[speed] ?? Math.max(length, 3));
    if (way >= length && lead.offset === length) this.go(lead.frame + 1);
    else if (Math.floor(way) > lead.offset) this.go(lead.frame, Math.min(Math.floor(way), length));
    this.part = Math.floor(way) < length ? way % 1 : 0;
    if (this.part) this.walk();
  }

  // ---- drawing

  drawRegret() {
    const { regret: measure, clock } = this.view;
    const bySteps = clock === "steps";
    this.measures.show(measure);
    this.axes.show(this.view.axes === "log" ? "log" : "linear");
    this.clock.show(bySteps ? "steps" : "episodes");
    this.regretTitle.textContent = { gap_regret: "Regret", regret: "Regret", cost: "Cost so far", steps: "Steps per episode" }[measure];
    // Cumulative curves start at zero.
    const zero = (ends) => (measure === "steps" || !ends.length ? [] : [0]);
    const along = ({ curve, ends }) => [...zero(ends), ...(bySteps ? Array.from(curve.episodes, (episode) => ends[episode - 1]) : curve.episodes)];
    const height = ({ curve, ends, episodeSteps }) => [...zero(ends), ...(measure === "steps" ? Array.from(curve.episodes, (episode) => episodeSteps[episode - 1]) : curve[measure])];
    this.regretChart.draw({
      axes: this.view.axes === "log" ? "log" : "linear", moving: true, now: this.regretChart.content?.now ?? 0, last: bySteps ? 1 : this.data.episodes, labels: true,
      xLabel: bySteps ? "step" : "episode", unit: bySteps ? "step" : "episode", yLabel: `${MEASURES[measure][0]}${measure.endsWith("regret") ? " (cost)" : ""}`, empty: "no episode is over yet",
      series: this.visible.map((replay) => ({ label: replay.label, style: replay.style, x: along(replay), y: height(replay) })),
    });
    this.verdict.textContent = this.verdictOf(measure);
    const explained = measure.endsWith("regret") ? ["gap_regret", "regret"] : [measure];
    this.meaning.textContent = explained.map((name) => `${MEASURES[name].join(": ")}.`).join(" ");
  }

  // Sentences that compare the agents: the ends of their curves, the difference, and the lengths of their last trips.
  verdictOf(measure) {
    const ends = this.visible.map((replay) => [replay.label, replay.ends.length, measure === "steps" ? replay.ends.at(-1) / replay.ends.length : replay.curve[measure].at(-1)]);
    if (ends.some(([, episodes]) => !episodes)) return "";
    const what = { gap_regret: "lost", regret: "paid more than the best policy by", cost: "paid", steps: "needed" }[measure];
    const unit = { gap_regret: " in cost compared with the best policy", steps: " steps per episode" }[measure] ?? "";
    const said = `In ${whole(ends[0][1])} episodes, ${ends.map(([label, , end]) => `${label} ${what} ${number(end)}`).join(", and ")}${unit}.`;
    if (ends.length < 2 || ends[0][1] !== ends[1][1]) return said;
    const [best, other] = ends.sort((one, two) => one[2] - two[2]);
    const less = { gap_regret: "lost less", steps: "needed fewer steps" }[measure] ?? "paid less";
    const ratio = best[2] > 0 ? ` and the ratio is ${number(other[2] / best[2], 2)}` : "";
    return `${said}${other[2] > best[2] ? ` ${best[0]} ${less} while learning: the difference is ${number(other[2] - best[2])}${ratio}.` : ""}${lastTripsCompared(this.visible)}`;
  }

  // Below the slider: ends of epochs are short marks, ends of episodes long ones.
  drawMarks() {
    const { frames, last, ends } = this.lead;
    const thin = (places, least) => places.filter((place, index) => !index || Math.floor(place / least) > Math.floor(places[index - 1] / least));
    const epochs = Array.from({ length: last + 1 }, (_, frame) => (1000 * frame) / Math.max(last, 1));
    let frame = 0;
    const episodes = Array.from(ends, (end) => {
      while (frame < last - 1 && frames.start_step[frame + 1] < end) frame += 1;
      return (1000 * (frame + (end - frames.start_step[frame]) / Math.max(frames.start_step[frame + 1] - frames.start_step[frame], 1))) / Math.max(last, 1);
    });
    const path = (name, places, height) => svg("path", { class: name, d: thin(places, 2.5).map((place) => `M${place.toFixed(1)},0v${height}`).join("") });
    this.marks.replaceChildren(path("epochs", epochs, 3), path("episodes", episodes, 8));
  }

  drawEvents() {
    this.eventList.replaceChildren(el("span", { class: "caption" }, this.replays.length > 1 ? `events of ${this.lead.label}` : "events"), ...this.lead.events(this.unfinished).map(([frame, offset, text]) => {
      const when = frame === this.lead.last ? "" : `${this.lead.unit} ${whole(this.lead.frames.epoch[frame] + 1)}: `;
      return el("button", { type: "button", "data-frame": frame, onclick: () => this.go(frame, offset) }, when ? el("span", { class: "when" }, when) : null, text);
    }));
    this.markEvent();
  }

  markEvent() {
    for (const button of this.eventList.querySelectorAll("button")) button.classList.toggle("at", Number(button.dataset.frame) === this.lead.frame);
  }

  get scale() {
    if (this.scaleOf !== this.view.layer) {
      this.scaleOf = this.view.layer;
      this.scaleNow = layerScale(this.view.layer, this.world, this.replays);
    }
    return this.scaleNow;
  }

  showWalls() {
    this.maps.forEach((map) => map.walls(this.whatIf.walls));
  }

  paint() {
    const { scale } = this;
    const { layer } = this.view;
    const { states, actions } = this.world;
    this.scaleBar.show(LAYERS[layer], scale);
    this.replays.forEach((replay, place) => {
      const map = this.maps[place];
      const replanned = layer === "replanned" ? this.whatIf.plans?.[place] : null;
      const edges = [];
      for (let state = 0; state < states; state += 1) {
        const played = layer !== "replanned" ? replay.likelyActions(state) : replanned?.policy[state] >= 0 ? [replanned.policy[state]] : [];
        const amount = amountIn(layer, this.world, replay, replanned, state);
        const walled = this.whatIf.walls.has(state) && layer === "replanned";
        const bare = walled ? "wall" : Number.isNaN(amount) ? "none" : amount === Infinity ? "lost" : layer === "visits" && amount === 0 ? "unseen" : null;
        const text = walled ? "" : Number.isNaN(amount) ? "" : layer === "visits" ? shortCount(amount) : cellNumber(amount, scale.high);
        map.paint(state, bare ?? scale.colour(scale.share(amount)), text, walled ? [] : played);
        if (this.places.kind === "graph" && !walled) {
          for (const action of played) {
            const row = state * actions + action;
            for (const [successor, times] of replay.seenFrom(row)) edges.push([state, successor, times / replay.visits[row]]);
          }
        }
      }
      map.drawEdges(edges);
    });
    this.describe();
  }

  describe() {
    this.replays.forEach((replay, place) => this.caption(replay, this.captions[place], this.view.layer === "replanned" ? this.whatIf.noteOf(replay) : ""));
  }

  caption(replay, { now, why }, note) {
    const { frames, frame } = replay;
    if (frame === replay.last) {
      now.textContent = `${this.unfinished ? "so far" : "end of the run"}: ${whole(frames.start_episode[frame])} episodes, ${whole(frames.start_step[frame])} steps`;
    } else {
      const first = frames.start_episode[frame] + 1;
      const last = Math.max(first, frames.start_episode[frame] + frames.goals[frame]);
      const steps = frames.steps[frame];
      now.textContent = `${replay.unit} ${whole(frames.epoch[frame] + 1)} · episode ${whole(first)}${last > first ? `–${whole(last)}` : ""} · ${whole(steps)} step${steps === 1 ? "" : "s"}`;
    }
    why.replaceChildren(...captionOf(replay, this.unfinished).map(([head, text]) => el("span", {}, el("b", {}, head), ` ${text} `)), note);
  }

  // Shows where the agent imagines that an action leads from a state: the action of its plan, unless another is given.
  hover(place, state, wanted = null) {
    const replay = this.replays[place];
    const { actions } = this.world;
    const [planned] = state === null ? [] : replay.actionsOf(state);
    // The action whose arrow the map shows.
    const action = wanted ?? (this.view.layer === "replanned" ? this.whatIf.plans?.[place]?.policy[state] : planned) ?? -1;
    if (state === null || action < 0) {
      this.maps[place].imagine(null, []);
      this.captions[place].step.textContent = stepInWords(replay, this.unfinished);
      return;
    }
    const { source, successors } = replay.imagined(state * actions + action);
    this.maps[place].imagine(state, successors);
    const words = successors.slice(0, 5).map(([successor, chance]) => `${whereTo(this.world, state, successor)} ${percent(chance)}`).join(", ");
    this.captions[place].step.textContent = `${replay.pairName(state * actions + action)}: ${words ? `it imagines ${words} (${source})` : `tried ${whole(replay.visits[state * actions + action])} times`}`;
  }

  // ---- one state

  showCell() {
    const state = this.chosen;
    const open = state !== null;
    this.cellCard.classList.toggle("open", open);
    this.cellBody.hidden = this.closeCell.hidden = !open;
    this.cellHint.hidden = open;
    this.cellTitle.textContent = open ? `State: ${this.world.stateNames[state]}` : "How to read this page";
    if (!open) return;
    let action = this.view.action === "" ? NaN : Number(this.view.action);
    const { actions, costs } = this.world;
    if (!(action >= 0 && action < actions && costs[state * actions + action] !== Infinity)) {
      [action] = [...this.replays[this.of].actionsOf(state), 0];
    }
    this.ofChoice?.show(String(this.of));
    this.cellView.show(this.of, state, action);
    this.whatIf.show(state);
  }

  // ---- keys and streams

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
    this.helpButton.setAttribute("aria-expanded", String(!this.help.hidden));
  }

  keys(event) {
    const far = event.shiftKey ? 10 : 1;
    return {
      ...this.playKeys(event), ArrowLeft: () => this.go(this.lead.frame - far), ArrowRight: () => this.go(this.lead.frame + far), ",": () => this.step(-1), ".": () => this.step(1),
      Home: () => this.go(0), End: () => this.go(this.lead.last), "?": () => this.toggleHelp(), Escape: () => this.pick(null),
      l: () => this.visible.length > 1 && this.setLead(String((Number(this.view.lead) + 1) % this.replays.length)),
      ...Object.fromEntries(this.layerNames.map((layer, place) => [place + 1, () => this.setLayer(layer)])),
    };
  }

  // Takes newer data of one agent from a run in progress.
  take(place, agent) {
    const replay = this.replays[place];
    const following = this.lead.frame >= this.lead.last - 1;
    const { frame, offset } = replay;
    replay.take({ ...agent, style: replay.style });
    this.scaleOf = null;
    this.slider.max = this.lead.last;
    this.drawRegret();
    this.drawMarks();
    this.drawEvents();
    replay.moveTo(frame, offset);
    this.painted = false;
    const { lead } = this;
    this.status.textContent = `live: ${lead.label} is in episode ${whole(Math.min(lead.ends.length + 1, this.data.episodes))} of ${whole(this.data.episodes)}, after ${whole(lead.frames.start_step[lead.last])} steps`;
    if (following) this.go(this.lead.last);
    else this.go(this.lead.frame, this.lead.offset);
  }

  listenToServer() {
    // A page that is opened late starts at the current moment, unless the URL asks for another one.
    if (!location.hash) this.go(this.lead.last);
    const source = new EventSource("events");
    // Messages are handled in order: decompressing takes time, and the end must not overtake the last steps.
    let handled = Promise.resolve();
    source.addEventListener("agent", (event) => {
      const message = JSON.parse(event.data);
      handled = handled.then(async () => this.take(message.place, resolve(message.agent, await inflate(message.block))));
    });
    source.addEventListener("end", () => {
      source.close();
      handled = handled.then(() => {
        this.unfinished = this.streaming = false;
        this.status.textContent = "the run is over";
        this.drawEvents();
        this.painted = false;
        this.go(this.lead.frame, this.lead.offset);
      });
    });
    source.onerror = () => {
      this.streaming = false;
      this.status.textContent = "disconnected";
      source.close();
    };
  }
}

function ordinal(count) {
  const endings = { 1: "st", 2: "nd", 3: "rd" };
  return `${count}${Math.floor(count / 10) % 10 === 1 ? "th" : endings[count % 10] ?? "th"}`;
}

showPage(WatchPage);
