// The page of `goalward watch`: one or two agents learn in a world, epoch by epoch.
import { choices, el, svg } from "../shared/elements.js";
import { cellNumber, number, shortCount, whole } from "../shared/numbers.js";
import { inflate, resolve } from "../shared/data.js";
import { Chart, nearest } from "../shared/chart.js";
import { showPage } from "../shared/page.js";
import { AgentsPage, moveButton } from "./player.js";
import { Replay } from "./replay.js";
import { placesOf } from "./places.js";
import { worldMap } from "./map.js";
import { CellView, WhatIf } from "./inspector.js";
import { LAYERS, ScaleBar, amountIn, layerScale } from "./layers.js";

const SPEEDS = ["0.5", "1", "2", "5", "15", "60"];

class WatchPage extends AgentsPage {
  constructor(data) {
    super(data);
    this.world = data.world;
    this.replays = data.agents.map((agent) => new Replay(agent, this.world));
    this.places = placesOf(this.world);
    this.maps = [];
    // Of an unfinished run the last frame is what happens now.
    this.unfinished = this.streaming = data.live;
    this.layerNames = Object.keys(LAYERS).filter((name) => name !== "replanned" || this.world.canPlan);
    this.begin({
      epoch: 1, lead: 0, layer: this.replays.some((replay) => replay.frames.values) ? "value" : "visits", cell: "", action: "",
      regret: "gap_regret", axes: this.apart() ? "log" : "linear", walls: "", costs: "", model: "plan", speed: "5",
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

  // ---- building

  build() {
    const { world, replays } = this;
    const best = replays[0].optimalValue;
    const facts = [
      `${whole(world.states)} states, ${world.actions} actions`,
      best === null ? "the true model is not known" : `the best policy pays ${number(best, 4)} per episode`,
    ];
    this.status = el("span", { class: "live", hidden: !this.data.live }, "live");
    this.helpButton = el("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick: () => this.toggleHelp() }, "keys");
    document.getElementById("page").replaceChildren(
      this.agentsHeader(facts, this.status, this.helpButton),
      this.buildHelp(), this.notes((replay) => this.notesOf(replay)), this.buildControls(),
      this.cards((replay) => this.buildMap(replay)),
      this.buildScale(),
      el("div", { class: "lower" }, this.buildRegret(), this.buildEvents()),
      this.buildCell(), this.footer());
    this.maps.forEach((map) => map.choose(null));
  }

  buildHelp() {
    const keys = [["space", "play or pause"], ["← →", "one epoch back or on"], ["shift + ← →", "ten epochs"], ["home, end", "first or last"],
      [`1 – ${this.layerNames.length}`, "layers"], ["+ −", "faster or slower"], ["l", "step by the other agent's epochs"], ["esc", "close the cell"], ["tab, arrows", "walk over a map that has the focus"]];
    this.help = el("dl", { class: "keys", hidden: true }, keys.map(([key, what]) => [el("dt", {}, key), el("dd", {}, what)]));
    return this.help;
  }

  notesOf(replay) {
    const notes = [];
    if (!replay.hasPlans) notes.push(`${replay.label} does not plan in epochs: it chooses an action at every step. The page shows ${whole(replay.count)} snapshots.`);
    else if (replay.count - 1 < replay.epochs) notes.push(`${replay.label} had ${whole(replay.epochs)} epochs; ${whole(replay.count - 1)} of them are on this page: the first ones, then evenly spaced ones. Counts and curves are complete.`);
    if (!replay.frames.values) notes.push(`${replay.label} estimates no costs, so its maps have no values.`);
    if (replay.models?.every > 1) notes.push(`The models that ${replay.label} planned with are on this page for every ${ordinal(replay.models.every)} epoch.`);
    return notes;
  }

  buildControls() {
    const step = (by) => () => this.go(this.lead.frame + by);
    this.slider = el("input", { type: "range", min: 0, max: this.lead.last, value: 0, "aria-label": "epoch", oninput: () => this.go(Number(this.slider.value)) });
    this.label = el("output", { class: "epoch-label" });
    this.leadChoice = this.replays.length > 1
      ? choices("step by the epochs of", this.replays.map((replay, place) => [String(place), replay.label]), (lead) => this.setLead(lead)) : null;
    this.layers = choices("layer", this.layerNames.map((name) => [name, ...LAYERS[name]]), (layer) => this.setLayer(layer));
    return el("div", { class: "controls" },
      el("div", { class: "time" },
        moveButton("first", "first epoch", () => this.go(0)), moveButton("back", "one epoch back", step(-1)), this.playControl(),
        moveButton("on", "one epoch on", step(1)), moveButton("last", this.unfinished ? "newest epoch" : "end of the run", () => this.go(this.lead.last)),
        this.slider, this.label),
      el("div", { class: "options" }, el("span", { class: "caption" }, "show"), this.layers, el("span", { class: "space" }),
        this.leadChoice ? [el("span", { class: "caption" }, "step by"), this.leadChoice] : null, this.speedControl(SPEEDS, "epochs")));
  }

  buildMap(replay) {
    const map = worldMap(this.world, this.places, `${replay.label}: plan and layer`, (state) => this.pick(state));
    this.maps.push(map);
    return el("div", { class: "map-host" }, map.host);
  }

  buildScale() {
    const signs = [
      ["start", "circle", { class: "start", cx: 8, cy: 8, r: 4.5 }],
      ["goal", "path", { class: "star", d: "M8,1L9.9,6.1L15,6.1L11,9.3L12.5,14.5L8,11.4L3.5,14.5L5,9.3L1,6.1L6.1,6.1z" }],
    ];
    if (this.places.walls?.length) signs.push(["wall", "rect", { class: "wall", x: 2, y: 2, width: 12, height: 12 }]);
    if (this.places.kind === "graph") signs.push(["where the plan's actions have led so far", "path", { class: "edge", d: "M1,12Q8,0 15,8" }]);
    const tied = this.replays.some((replay) => replay.frames.tied.some((bits, place) => bits !== replay.frames.played[place]));
    if (tied) signs.push(["pale: looks equally good to the agent", "path", { class: "edge", opacity: 0.42, d: "M2,8H13M9,4L13,8L9,12" }]);
    this.scaleBar = new ScaleBar(...signs.map(([text, tag, shape]) =>
      el("span", {}, svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, svg(tag, shape)), text)));
    return this.scaleBar.host;
  }

  buildRegret() {
    const known = this.replays[0].optimalValue !== null;
    this.regretChart = new Chart({ label: "regret along the episodes", xLabel: "episode", yLabel: "regret", height: 300, pick: (episode) => this.goToEpisode(episode) });
    this.measures = known ? choices("regret", [["gap_regret", "gap regret", "the sum of optimality gaps Q* − V* of the actions played: same mean, less luck"], ["regret", "realised regret", "costs paid minus the optimal cost of the episodes"]], (regret) => { this.address.set({ regret }); this.drawRegret(); }) : null;
    this.axes = choices("axes", [["linear", "linear"], ["log", "log"]], (axes) => { this.address.set({ axes }); this.drawRegret(); });
    return el("section", { class: "card regret" },
      el("div", { class: "card-head" }, el("h2", {}, known ? "Regret" : "Cost so far"), el("div", { class: "options" }, this.measures, this.axes)),
      this.regretChart.host);
  }

  buildEvents() {
    this.eventList = el("ol", { class: "events" });
    this.eventTitle = el("h2", {}, "Events");
    return el("section", { class: "card" }, el("div", { class: "card-head" }, this.eventTitle), this.eventList);
  }

  buildCell() {
    this.cellView = new CellView(this.world, this.replays, (action) => {
      this.address.set({ action });
      this.showCell();
    });
    this.cellTitle = el("h2");
    this.closeCell = el("button", { type: "button", class: "quiet", onclick: () => this.pick(null) }, "close");
    this.cellHint = el("p", { class: "hint" }, "Click a state for its actions, the belief about them and its visits; change its cost or wall it off, and replan.");
    this.whatIf = new WhatIf(this);
    this.cellBody = el("div", {}, this.cellView.host, this.whatIf.host);
    return el("section", { class: "card cell-card", id: "cell" }, el("div", { class: "card-head" }, this.cellTitle, this.closeCell), this.cellHint, this.cellBody);
  }

  // ---- the view

  readView() {
    const { view } = this;
    this.whatIf.read(view);
    if (!this.layerNames.includes(view.layer)) view.layer = "value";
    this.readSpeed("5");
    this.leadChoice?.show(String(view.lead));
    this.slider.max = this.lead.last;
    this.chosen = this.readCell(view.cell);
    this.drawRegret();
    this.drawEvents();
    this.showWalls();
    this.maps.forEach((map) => map.choose(this.chosen));
    this.go(view.epoch === "end" ? this.lead.last : this.frameOf(Number(view.epoch) || 1));
    this.setLayer(view.layer);
  }

  // The address has epochs, counted from 1; a page may hold fewer frames.
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

  setLead(lead) {
    const { lead: before } = this;
    const [episode, step] = [before.frames.start_episode[before.frame], before.frames.start_step[before.frame]];
    const atEnd = before.frame === before.last;
    this.address.set({ lead });
    this.leadChoice?.show(String(lead));
    this.slider.max = this.lead.last;
    this.drawEvents();
    this.go(atEnd ? this.lead.last : this.lead.frameAt(episode, step));
  }

  setLayer(layer) {
    if (layer === "replanned" && !this.whatIf.plans) this.whatIf.replan();
    this.address.set({ layer });
    this.layers.show(layer);
    this.paint();
  }

  pick(state) {
    this.chosen = state;
    this.address.set({ cell: this.cellText(state), action: "" });
    this.maps.forEach((map) => map.choose(state));
    this.showCell();
  }

  go(frame) {
    const lead = this.lead;
    lead.moveTo(frame);
    const { start_episode, start_step, epoch } = lead.frames;
    for (const replay of this.replays) {
      if (replay === lead) continue;
      replay.moveTo(lead.frame === lead.last ? replay.last : replay.frameAt(start_episode[lead.frame], start_step[lead.frame]));
    }
    this.slider.value = lead.frame;
    const atEnd = lead.frame === lead.last;
    this.label.textContent = atEnd ? `${this.unfinished ? "now" : "end"} · ${whole(lead.epochs)} ${lead.hasPlans ? "epochs" : "snapshots"}` : `${lead.hasPlans ? "epoch" : "snapshot"} ${whole(epoch[lead.frame] + 1)} of ${whole(lead.epochs)}`;
    this.slider.setAttribute("aria-valuetext", this.label.textContent);
    this.address.set({ epoch: atEnd ? "end" : epoch[lead.frame] + 1 });
    if (this.whatIf.plans) this.whatIf.replan();
    this.paint();
    const now = start_episode[lead.frame];
    this.regretChart.moveTo(now);
    this.cellView.moveTo(now);
    this.showCell();
    this.markEvent();
  }

  goToEpisode(episode) {
    this.go(this.lead.frameAt(Math.round(episode), Infinity));
  }

  get over() {
    return this.lead.frame >= this.lead.last && !this.streaming;
  }

  rewind() {
    this.go(0);
  }

  advance(epochs) {
    this.go(this.lead.frame + epochs);
  }

  // ---- drawing

  drawRegret() {
    const known = this.replays[0].optimalValue !== null;
    const measure = known ? (this.view.regret === "regret" ? "regret" : "gap_regret") : "cost";
    this.measures?.show(measure);
    this.axes.show(this.view.axes === "log" ? "log" : "linear");
    this.regretChart.draw({
      axes: this.view.axes === "log" ? "log" : "linear", moving: true, now: this.lead.frames.start_episode[this.lead.frame], last: this.data.episodes,
      yLabel: { regret: "realised regret", gap_regret: "gap regret", cost: "cost so far" }[measure], empty: "no episode is over yet",
      series: this.replays.map((replay) => ({ label: replay.label, style: replay.style, x: replay.curve.episodes, y: replay.curve[measure] })),
    });
  }

  drawEvents() {
    const events = this.lead.events(this.unfinished);
    this.eventTitle.textContent = this.replays.length > 1 ? `Events of ${this.lead.label}` : "Events";
    const line = ([frame, text]) => el("li", {}, el("button", { type: "button", "data-frame": frame, onclick: () => this.go(frame) },
      el("span", { class: "when" }, frame === this.lead.last ? (this.unfinished ? "now" : "end") : `${whole(this.lead.frames.epoch[frame] + 1)}`), el("span", {}, text)));
    const { milestones, changes } = events;
    this.eventList.replaceChildren(...milestones.map(line),
      changes.length ? el("li", { class: "divider" }, `${changes.length} changes of the plan at the start`) : el("li", { class: "divider" }, "the plan at the start never changes"),
      ...changes.map(line));
    this.markEvent();
  }

  markEvent() {
    for (const button of this.eventList.querySelectorAll("button")) {
      button.classList.toggle("at", Number(button.dataset.frame) === this.lead.frame);
    }
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
        let [played, tied] = [[], []];
        if (layer === "replanned") {
          if (replanned?.policy[state] >= 0) played = [replanned.policy[state]];
        } else {
          for (let action = 0; action < actions; action += 1) {
            const pair = state * actions + action;
            if (replay.plays(pair)) played.push(action);
            if (replay.ties(pair)) tied.push(action);
          }
        }
        const amount = amountIn(layer, this.world, replay, replanned, state);
        const walled = this.whatIf.walls.has(state) && layer === "replanned";
        const bare = walled ? "wall" : Number.isNaN(amount) ? "none" : amount === Infinity ? "lost" : layer === "visits" && amount === 0 ? "unseen" : null;
        const text = walled ? "" : Number.isNaN(amount) ? "" : layer === "visits" ? shortCount(amount) : cellNumber(amount, scale.high);
        map.paint(state, bare ?? scale.colour(scale.share(amount)), text, walled ? [] : played, tied);
        if (this.places.kind === "graph" && !walled) {
          for (const action of played) {
            const row = state * actions + action;
            for (const [successor, times] of replay.seenFrom(row)) edges.push([state, successor, times / replay.visits[row]]);
          }
        }
      }
      map.drawEdges(edges);
      this.caption(replay, this.captions[place]);
      if (layer === "replanned") this.captions[place].why.textContent += ` ${this.whatIf.noteOf(replay)}`;
    });
  }

  caption(replay, { now, why }) {
    const { frames, frame } = replay;
    const name = replay.hasPlans ? "epoch" : "snapshot";
    if (frame === replay.last) {
      now.textContent = `${this.unfinished ? "so far" : "end of the run"}: ${whole(frames.start_episode[frame])} episodes, ${whole(frames.start_step[frame])} steps`;
      why.textContent = replay.hasPlans ? `The plan shown is the ${this.unfinished ? "current" : "last"} one.` : "";
      return;
    }
    const first = frames.start_episode[frame] + 1;
    const last = Math.max(first, frames.start_episode[frame] + frames.goals[frame]);
    const steps = frames.steps[frame];
    now.textContent = `${name} ${whole(frames.epoch[frame] + 1)} · episode ${whole(first)}${last > first ? `–${whole(last)}` : ""} · ${whole(steps)} step${steps === 1 ? "" : "s"}`;
    const reason = replay.whyEnded(frame);
    why.textContent = reason ? `It ended because ${reason}.` : "";
  }

  // ---- one state

  showCell() {
    const state = this.chosen;
    const open = state !== null;
    this.cellBody.hidden = this.closeCell.hidden = !open;
    this.cellHint.hidden = open;
    this.cellTitle.textContent = open ? `State: ${this.world.stateNames[state]}` : "A closer look";
    if (!open) return;
    let action = this.view.action === "" ? NaN : Number(this.view.action);
    const { actions, costs } = this.world;
    if (!(action >= 0 && action < actions && costs[state * actions + action] !== Infinity)) {
      action = Array.from({ length: actions }, (_, each) => each).find((each) => this.lead.plays(state * actions + each)) ?? 0;
    }
    this.cellView.show(state, action);
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
      ...this.playKeys(event), ArrowLeft: () => this.go(this.lead.frame - far), ArrowRight: () => this.go(this.lead.frame + far),
      Home: () => this.go(0), End: () => this.go(this.lead.last), "?": () => this.toggleHelp(), Escape: () => this.pick(null),
      l: () => this.leadChoice && this.setLead(String((Number(this.view.lead) + 1) % this.replays.length)),
      ...Object.fromEntries(this.layerNames.map((layer, place) => [place + 1, () => this.setLayer(layer)])),
    };
  }

  // A run that goes on: newer data for one agent.
  take(place, agent) {
    const replay = this.replays[place];
    const following = this.lead.frame >= this.lead.last - 1;
    const { frame } = replay;
    replay.take(agent);
    this.scaleOf = null;
    this.slider.max = this.lead.last;
    this.drawRegret();
    this.drawEvents();
    replay.moveTo(Math.min(frame, replay.last));
    this.go(following ? this.lead.last : this.lead.frame);
  }

  listenToServer() {
    // Whoever opens the page late sees what happens now, unless the address asks for something else.
    if (!location.hash) this.go(this.lead.last);
    const source = new EventSource("events");
    source.addEventListener("agent", async (event) => {
      const message = JSON.parse(event.data);
      this.take(message.place, resolve(message.agent, await inflate(message.block)));
    });
    source.addEventListener("end", () => {
      this.unfinished = this.streaming = false;
      this.status.textContent = "the run is over";
      source.close();
      this.drawEvents();
      this.go(this.lead.frame);
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
