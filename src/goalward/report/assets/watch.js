// The page of `goalward watch`: one or two agents learn in a world, epoch by epoch.
import { choices, el, icon, isDark, setTheme, svg, themeButton, toggle } from "./elements.js";
import { cellNumber, number, shortCount, whole } from "./numbers.js";
import { amountColour, css, signColour } from "./colours.js";
import { inflate, readPage, resolve, showFailure } from "./block.js";
import { Page } from "./address.js";
import { Chart, nearest, swatch } from "./chart.js";
import { Replay } from "./replay.js";
import { edited, plan } from "./planner.js";
import { placesOf } from "./places.js";
import { worldMap } from "./world_map.js";
import { CellView } from "./cell.js";

const SPEEDS = { "0.5": 0.5, 1: 1, 2: 2, 5: 5, 15: 15, 60: 60 };
const LAYERS = {
  value: ["value", "what the agent expects to pay from here to the goal"],
  error: ["error", "expected cost minus the optimal cost V*: blue is too hopeful, orange too gloomy"],
  visits: ["visits", "how often the agent was here before this epoch"],
  uncertainty: ["uncertainty", "how unsure the belief is of what the actions here do: the root of the summed variances, mean over actions"],
  gap: ["gap", "what the plan's action here loses in expectation against the best one, Q* − V*"],
  replanned: ["re-planned", "optimal values and actions in the model below, with your changes"],
};

class WatchPage extends Page {
  constructor(data) {
    super(data);
    this.world = data.world;
    this.replays = data.agents.map((agent) => new Replay(agent, this.world));
    this.places = placesOf(this.world);
    this.playing = false;
    this.plans = null;
    this.begin({
      epoch: 0, lead: 0, layer: this.replays.some((replay) => replay.frames.values) ? "value" : "visits", cell: "", action: "",
      regret: "gap_regret", axes: this.apart() ? "log" : "linear", walls: "", costs: "", model: "plan", speed: "5", theme: "auto",
    });
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
    const { data, world, replays } = this;
    const two = replays.length > 1;
    const best = replays[0].optimalValue;
    const facts = [
      `${whole(data.episodes)} episodes`, `seed ${data.seed}`, ...(two ? ["same luck for both"] : []),
      `${whole(world.states)} states, ${world.actions} actions`,
      ...(best === null ? ["the true model is not known"] : [`the best policy pays ${number(best, 4)} per episode`]),
    ];
    this.theme = themeButton(() => this.view.theme, (theme) => {
      this.address.set({ theme });
      setTheme(theme);
      this.repaint();
    });
    this.status = el("span", { class: "live", hidden: !data.live }, "live");
    const help = el("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick: () => this.toggleHelp() }, "keys");
    this.helpButton = help;
    document.getElementById("page").replaceChildren(
      el("header", {},
        el("div", {}, el("h1", {}, ...heading(replays), el("span", { class: "in" }, " in "), data.worldName), el("p", { class: "facts" }, facts.join(" · "))),
        el("div", { class: "corner" }, this.status, help, this.theme)),
      this.buildHelp(), this.buildNotes(), this.buildControls(),
      el("div", { class: `agents ${two ? "two" : "one"}` }, replays.map((replay) => this.buildAgent(replay))),
      this.buildScale(),
      el("div", { class: "lower" }, this.buildRegret(), this.buildEvents()),
      this.buildCell(), this.buildFooter());
    this.maps.forEach((map) => map.choose(null));
  }

  buildHelp() {
    const keys = [["space", "play or pause"], ["← →", "one epoch back or on"], ["shift + ← →", "ten epochs"], ["home, end", "first or last"],
      ["1 – 6", "layers"], ["+ −", "faster or slower"], ["l", "step by the other agent's epochs"], ["esc", "close the cell"], ["tab, arrows", "walk over a map that has the focus"]];
    this.help = el("dl", { class: "keys", hidden: true }, keys.map(([key, what]) => [el("dt", {}, key), el("dd", {}, what)]));
    return this.help;
  }

  buildNotes() {
    const notes = [];
    for (const replay of this.replays) {
      if (replay.caveat) notes.push(`${replay.label}: ${replay.caveat}.`);
      if (!replay.hasPlans) notes.push(`${replay.label} follows no plans: it chooses anew at every step. It is shown at ${whole(replay.count)} moments of the run.`);
      else if (replay.count - 1 < replay.epochs) notes.push(`${replay.label} had ${whole(replay.epochs)} epochs; ${whole(replay.count - 1)} of them are on this page: the first ones, then evenly spaced ones. Counts and curves are complete.`);
      if (!replay.frames.values) notes.push(`${replay.label} estimates no costs, so its maps have no values.`);
      if (replay.models?.every > 1) notes.push(`The models that ${replay.label} planned with are on this page for every ${ordinal(replay.models.every)} epoch.`);
    }
    const warnings = this.replays.filter((replay) => replay.truncation).map((replay) => `The run of ${replay.label} was cut off: ${replay.truncation}.`);
    this.notes = el("ul", { class: "notes", hidden: !notes.length && !warnings.length },
      warnings.map((note) => el("li", { class: "warning" }, note)), notes.map((note) => el("li", {}, note)));
    return this.notes;
  }

  buildControls() {
    const step = (by) => () => this.go(this.lead.frame + by);
    this.playButton = el("button", { type: "button", class: "play", "aria-label": "play", onclick: () => this.play(!this.playing) }, icon("play"));
    this.slider = el("input", { type: "range", min: 0, max: this.lead.last, value: 0, "aria-label": "epoch", oninput: () => this.go(Number(this.slider.value)) });
    this.label = el("output", { class: "epoch-label" });
    this.speed = el("select", { "aria-label": "speed", onchange: () => this.address.set({ speed: this.speed.value }) },
      Object.keys(SPEEDS).sort((one, other) => one - other).map((speed) => el("option", { value: speed }, `${speed} epochs/s`)));
    this.leadChoice = this.replays.length > 1
      ? choices("step by the epochs of", this.replays.map((replay, place) => [String(place), replay.label]), (lead) => this.setLead(lead)) : null;
    const button = (shape, name, act) => el("button", { type: "button", "aria-label": name, title: name, onclick: act }, icon(shape));
    this.layers = choices("layer", Object.entries(LAYERS).map(([name, [text, title]]) => [name, text, title]), (layer) => this.setLayer(layer));
    return el("div", { class: "controls" },
      el("div", { class: "time" },
        button("first", "first epoch", () => this.go(0)), button("back", "one epoch back", step(-1)), this.playButton,
        button("on", "one epoch on", step(1)), button("last", "end of the run", () => this.go(this.lead.last)),
        this.slider, this.label),
      el("div", { class: "options" }, el("span", { class: "caption" }, "show"), this.layers, el("span", { class: "space" }),
        this.leadChoice ? [el("span", { class: "caption" }, "step by"), this.leadChoice] : null, this.speed));
  }

  buildAgent(replay) {
    this.maps ??= [];
    this.captions ??= [];
    const map = worldMap(this.world, this.places, `${replay.label}: plan and layer`, (state) => this.pick(state));
    const caption = { now: el("p", { class: "now" }), why: el("p", { class: "why" }) };
    this.maps.push(map);
    this.captions.push(caption);
    return el("section", { class: "agent card" },
      el("h2", {}, swatch(replay.style), replay.label), caption.now,
      el("div", { class: "map-host" }, map.host), caption.why);
  }

  buildScale() {
    this.scaleBar = el("canvas", { width: 256, height: 1, class: "bar", "aria-hidden": "true" });
    this.scaleLow = el("span");
    this.scaleHigh = el("span");
    this.scaleText = el("span", { class: "what" });
    const signs = [
      [svg("circle", { class: "start", cx: 8, cy: 8, r: 4.5 }), "start"],
      [svg("path", { class: "star", d: "M8,1L9.9,6.1L15,6.1L11,9.3L12.5,14.5L8,11.4L3.5,14.5L5,9.3L1,6.1L6.1,6.1z" }), "goal"],
      ...(this.places.walls?.length ? [[svg("rect", { class: "wall", x: 2, y: 2, width: 12, height: 12 }), "wall"]] : []),
      ...(this.places.kind === "graph" ? [[svg("path", { class: "edge", d: "M1,12Q8,0 15,8" }), "where the plan's actions have led so far"]] : []),
    ];
    const tied = this.replays.some((replay) => replay.frames.tied.some((bits, place) => bits !== replay.frames.played[place]));
    return el("div", { class: "scale" }, this.scaleText, el("span", { class: "ends" }, this.scaleLow, this.scaleBar, this.scaleHigh),
      el("span", { class: "signs" }, signs.map(([sign, text]) => el("span", {}, svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, sign), text)),
        tied ? el("span", {}, svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, svg("path", { class: "edge", opacity: 0.42, d: "M2,8H13M9,4L13,8L9,12" })), "pale: looks equally good to the agent") : null));
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
    this.cellHint = el("p", { class: "hint" }, "Click a state for its actions, the belief about them and its visits; change its cost or wall it off, and plan anew.");
    this.cellBody = el("div", {}, this.cellView.host, this.buildWhatIf());
    return el("section", { class: "card cell-card", id: "cell" }, el("div", { class: "card-head" }, this.cellTitle, this.closeCell), this.cellHint, this.cellBody);
  }

  buildWhatIf() {
    this.costInput = el("input", { type: "number", min: 0, step: "any", "aria-label": "cost of every action here", onchange: () => this.changeCost() });
    this.wallButton = toggle("wall", () => this.toggleWall(), "the way into this state becomes staying where one is");
    this.modelChoice = choices("plan with", [["plan", "the model of the plan", "the model that each agent planned with in this epoch"], ["mean", "the expected model", "the mean of the posterior"], ["truth", "the true world"]], (model) => { this.address.set({ model }); this.replan(); });
    this.planButton = el("button", { type: "button", class: "strong", onclick: () => { this.replan(); this.setLayer("replanned"); } }, "plan anew");
    this.undoButton = el("button", { type: "button", onclick: () => { this.setEdits(new Set(), new Map()); } }, "undo all changes");
    this.whatIfText = el("p", { class: "small what-if-text", "aria-live": "polite" });
    this.whatIf = el("div", { class: "what-if", hidden: !this.world.canPlan },
      el("h3", {}, "What if?"),
      el("div", { class: "options" }, el("label", {}, "cost of every action here ", this.costInput), this.wallButton, el("span", { class: "caption" }, "plan with"), this.modelChoice, this.planButton, this.undoButton),
      this.whatIfText);
    return this.whatIf;
  }

  buildFooter() {
    const settings = (replay) => el("div", {}, el("h3", {}, swatch(replay.style), replay.label),
      el("dl", { class: "settings" }, [["algorithm", replay.name], ...Object.entries(replay.settings), ...Object.entries(replay.told).map(([name, value]) => [`${name} (told)`, value]), ...Object.entries(replay.notes).filter(([name]) => !(name in replay.settings))]
        .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
    return el("footer", {},
      el("details", {}, el("summary", {}, "Settings"), el("div", { class: "settings-list" }, this.replays.map(settings))),
      el("p", { class: "small" }, `Made by goalward ${this.data.version}. The view stands in the address of this page: copy it to share what you see.`));
  }

  // ---- the view

  readView() {
    const { view } = this;
    setTheme(view.theme);
    this.theme.show();
    const numbers = (text) => text.split(",").filter((part) => part !== "").map(Number).filter((part) => Number.isInteger(part) && part >= 0 && part < this.world.states);
    this.edits = {
      walls: new Set(numbers(view.walls).filter((state) => state !== this.world.start)),
      costs: new Map(view.costs.split(",").map((part) => part.split(":").map(Number)).filter(([state, cost]) => Number.isInteger(state) && state >= 0 && state < this.world.states && cost >= 0 && Number.isFinite(cost))),
    };
    if (!(view.layer in LAYERS)) view.layer = "value";
    if (!(view.speed in SPEEDS)) view.speed = "5";
    this.speed.value = view.speed;
    this.leadChoice?.show(String(view.lead));
    this.slider.max = this.lead.last;
    this.chosen = this.readCell(view.cell);
    this.drawRegret();
    this.drawEvents();
    this.maps.forEach((map) => { map.walls(this.edits.walls); map.choose(this.chosen); });
    this.go(this.frameOf(Number(view.epoch) || 0));
    this.setLayer(view.layer);
  }

  // The address has epochs; a page may hold fewer frames.
  frameOf(epoch) {
    return nearest(this.lead.frames.epoch, epoch);
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
    if (layer === "replanned" && !this.plans) this.replan(false);
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
    this.label.textContent = atEnd ? `end · ${whole(lead.epochs)} ${lead.hasPlans ? "epochs" : "looks"}` : `${lead.hasPlans ? "epoch" : "look"} ${whole(epoch[lead.frame] + 1)} of ${whole(lead.epochs)}`;
    this.slider.setAttribute("aria-valuetext", this.label.textContent);
    this.address.set({ epoch: epoch[lead.frame] });
    if (this.plans) this.replan(false);
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

  play(on) {
    this.playing = on;
    this.playButton.replaceChildren(icon(on ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", on ? "pause" : "play");
    if (!on) return;
    if (this.lead.frame === this.lead.last && !this.data.live) this.go(0);
    let before = performance.now();
    let owed = 0;
    const tick = (time) => {
      if (!this.playing) return;
      owed += ((time - before) / 1000) * SPEEDS[this.view.speed];
      before = time;
      if (owed >= 1) {
        const steps = Math.floor(owed);
        owed -= steps;
        this.go(this.lead.frame + steps);
      }
      if (this.lead.frame >= this.lead.last && !this.streaming) this.play(false);
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  // ---- drawing

  repaint() {
    this.maps.forEach((map) => map.shown.fill(""));
    this.drawRegret();
    document.querySelectorAll("svg.swatch").forEach((each) => {
      const replay = this.replays.find((one) => each.parentNode.textContent.includes(one.label));
      if (replay) each.replaceWith(swatch(replay.style));
    });
    this.cellView.charted = null;
    this.go(this.lead.frame);
  }

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
    const events = this.lead.events();
    this.eventTitle.textContent = this.replays.length > 1 ? `Events of ${this.lead.label}` : "Events";
    const line = ([frame, text]) => el("li", {}, el("button", { type: "button", "data-frame": frame, onclick: () => this.go(frame) },
      el("span", { class: "when" }, frame === this.lead.last ? "end" : `${whole(this.lead.frames.epoch[frame] + 1)}`), el("span", {}, text)));
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

  // The number of a state in the current layer, for one agent.
  amount(replay, place, state) {
    const { truth, actions } = this.world;
    switch (this.view.layer) {
      case "value": return replay.value(state);
      case "error": return truth ? replay.value(state) - truth.values[state] : NaN;
      case "visits": return replay.stateVisits(state);
      case "uncertainty": return replay.uncertainty(state);
      case "gap": {
        if (!truth) return NaN;
        let sum = 0;
        for (let action = 0; action < actions; action += 1) {
          const share = replay.share(state * actions + action);
          if (share > 0) sum += share * truth.gaps[state * actions + action];
        }
        return sum;
      }
      default: return this.plans?.[place] ? this.plans[place].values[state] : NaN;
    }
  }

  // The scale of a layer is the same for both agents and for all epochs.
  layerScale() {
    const { layer } = this.view;
    if (this.scaleOf === layer) return this.scaleNow;
    this.scaleOf = layer;
    const { truth, states } = this.world;
    const optimal = truth ? [...truth.values].filter(Number.isFinite) : [];
    const best = Math.max(...optimal, 1e-9);
    const worst = truth ? Math.max(...[...truth.gaps].filter(Number.isFinite), 1e-9) : 1;
    const values = optimal.length ? 2 * best : Math.max(1e-9, ...this.replays.map((replay) => Math.max(...[...(replay.frames.values ?? [])].filter(Number.isFinite), 0)));
    const linear = (high) => ({ low: 0, high, share: (amount) => amount / high, colour: amountColour });
    if (layer === "error") {
      const high = optimal.length ? best : values;
      this.scaleNow = { low: -high, high, share: (amount) => amount / high, colour: signColour };
    } else if (layer === "visits") {
      const most = Math.max(2, ...this.replays.map((replay) => Math.max(...replay.total)));
      this.scaleNow = { low: 1, high: most, share: (amount) => Math.log(amount) / Math.log(most), colour: amountColour, log: true };
    } else if (layer === "uncertainty") {
      let most = 1e-9;
      this.replays.forEach((replay) => {
        const { frame } = replay;
        replay.moveTo(0);
        for (let state = 0; state < states && replay.belief; state += 1) most = Math.max(most, replay.uncertainty(state));
        replay.moveTo(frame);
      });
      this.scaleNow = linear(most);
    } else {
      this.scaleNow = linear(layer === "gap" ? worst : values);
    }
    return this.scaleNow;
  }

  paint() {
    const scale = this.layerScale();
    const { layer } = this.view;
    const { states, actions } = this.world;
    this.showScale(scale);
    this.replays.forEach((replay, place) => {
      const map = this.maps[place];
      const replanned = layer === "replanned" ? this.plans?.[place] : null;
      const edges = [];
      for (let state = 0; state < states; state += 1) {
        let [played, tied] = [[], []];
        if (replanned) {
          if (replanned.policy[state] >= 0) played = [replanned.policy[state]];
        } else {
          for (let action = 0; action < actions; action += 1) {
            const pair = state * actions + action;
            if (replay.plays(pair)) played.push(action);
            if (replay.ties(pair)) tied.push(action);
          }
        }
        const amount = this.amount(replay, place, state);
        const walled = this.edits.walls.has(state) && layer === "replanned";
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
    });
  }

  caption(replay, { now, why }) {
    const { frames, frame } = replay;
    const name = replay.hasPlans ? "epoch" : "look";
    if (frame === replay.last) {
      now.textContent = `end of the run: ${whole(frames.start_episode[frame])} episodes, ${whole(frames.start_step[frame])} steps`;
      why.textContent = replay.hasPlans ? "The plan shown is the last one." : "";
      return;
    }
    const first = frames.start_episode[frame] + 1;
    const last = Math.max(first, frames.start_episode[frame] + frames.goals[frame]);
    const steps = frames.steps[frame];
    now.textContent = `${name} ${whole(frames.epoch[frame] + 1)} · episode ${whole(first)}${last > first ? `–${whole(last)}` : ""} · ${whole(steps)} step${steps === 1 ? "" : "s"}`;
    const reason = replay.whyEnded(frame);
    why.textContent = reason ? `It ended because ${reason}.` : "";
  }

  showScale(scale) {
    const { layer } = this.view;
    const [name, what] = LAYERS[layer];
    this.scaleText.replaceChildren(el("b", {}, name), `: ${what}`);
    const clipped = layer === "value" || layer === "replanned" || layer === "error";
    this.scaleLow.textContent = `${layer === "error" ? "≤ " : ""}${number(scale.low)}`;
    this.scaleHigh.textContent = `${clipped ? "≥ " : ""}${number(scale.high)}`;
    if (this.barOf === layer) return;
    this.barOf = layer;
    const context = this.scaleBar.getContext("2d");
    for (let x = 0; x < 256; x += 1) {
      context.fillStyle = css(scale.colour(layer === "error" ? (2 * x) / 255 - 1 : x / 255));
      context.fillRect(x, 0, 1, 1);
    }
  }

  // ---- one state, and what if

  showCell() {
    const state = this.chosen;
    const open = state !== null;
    this.cellBody.hidden = this.closeCell.hidden = !open;
    this.cellHint.hidden = open;
    this.cellTitle.textContent = open ? `State: ${this.world.stateNames[state]}` : "A closer look";
    if (!open) return;
    let action = this.view.action === "" ? NaN : Number(this.view.action);
    const { actions, costs } = this.world;
    if (!(action >= 0 && action < actions && Number.isFinite(costs[state * actions + action]))) {
      action = Array.from({ length: actions }, (_, each) => each).find((each) => this.lead.plays(state * actions + each)) ?? 0;
    }
    this.cellView.show(state, action);
    const first = Array.from({ length: actions }, (_, each) => costs[state * actions + each]).find(Number.isFinite) ?? 0;
    if (document.activeElement !== this.costInput) this.costInput.value = this.edits.costs.get(state) ?? first;
    this.wallButton.show(this.edits.walls.has(state));
    this.wallButton.disabled = state === this.world.start;
    this.undoButton.disabled = !this.edits.walls.size && !this.edits.costs.size;
    this.modelChoice.show(this.view.model);
  }

  changeCost() {
    const cost = Number(this.costInput.value);
    const costs = new Map(this.edits.costs);
    if (this.costInput.value === "" || !(cost >= 0)) costs.delete(this.chosen);
    else costs.set(this.chosen, cost);
    this.setEdits(this.edits.walls, costs);
  }

  toggleWall() {
    const walls = new Set(this.edits.walls);
    if (!walls.delete(this.chosen)) walls.add(this.chosen);
    this.setEdits(walls, this.edits.costs);
  }

  setEdits(walls, costs) {
    this.edits = { walls, costs };
    this.address.set({ walls: [...walls].join(","), costs: [...costs].map((each) => each.join(":")).join(",") });
    this.maps.forEach((map) => map.walls(walls));
    this.replan();
    this.setLayer("replanned");
    this.showCell();
  }

  // Plans anew for each agent in the model that was chosen; null where there is none.
  replan(paint = true) {
    if (!this.world.canPlan) return;
    const { truth, costs } = this.world;
    const missing = [];
    this.plans = this.replays.map((replay) => {
      const model = this.view.model === "truth" ? truth && { ...truth, costs } : this.view.model === "mean" ? replay.belief && replay.expectedModel() : replay.plannedModel();
      if (!model) {
        missing.push(replay.label);
        return null;
      }
      return plan(edited(model, this.world, this.edits.walls, this.edits.costs), this.edits.walls);
    });
    const found = this.replays.map((replay, place) => this.plans[place] && `${replay.label}: ${number(this.plans[place].values[this.world.start], 5)} from the start`).filter(Boolean);
    const why = this.view.model === "mean" ? "the page has no posterior of" : "the page has no model of this epoch of";
    this.whatIfText.textContent = [...found, ...(missing.length ? [`${why} ${missing.join(" and ")}`] : [])].join(" · ");
    this.modelChoice.show(this.view.model);
    if (paint) this.paint();
  }

  // ---- keys and streams

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
    this.helpButton.setAttribute("aria-expanded", String(!this.help.hidden));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "range") return;
    const far = event.shiftKey ? 10 : 1;
    const speeds = Object.keys(SPEEDS).sort((one, other) => one - other);
    const faster = (by) => {
      const speed = speeds[Math.min(Math.max(speeds.indexOf(this.view.speed) + by, 0), speeds.length - 1)];
      this.speed.value = speed;
      this.address.set({ speed });
    };
    const acts = {
      " ": () => event.target.tagName !== "BUTTON" && this.play(!this.playing), ArrowLeft: () => this.go(this.lead.frame - far), ArrowRight: () => this.go(this.lead.frame + far),
      Home: () => this.go(0), End: () => this.go(this.lead.last), "+": () => faster(1), "-": () => faster(-1), "?": () => this.toggleHelp(),
      Escape: () => this.pick(null), l: () => this.leadChoice && this.setLead(String((Number(this.view.lead) + 1) % this.replays.length)),
    };
    const layer = Object.keys(LAYERS)[Number(event.key) - 1];
    const act = acts[event.key] ?? (layer ? () => this.setLayer(layer) : null);
    if (!act || act() === false) return;
    event.preventDefault();
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
    this.streaming = true;
    const source = new EventSource("events");
    source.addEventListener("agent", async (event) => {
      const message = JSON.parse(event.data);
      this.take(message.place, resolve(message.agent, await inflate(message.block)));
    });
    source.addEventListener("end", () => {
      this.streaming = false;
      this.status.textContent = "the run is over";
      source.close();
    });
    source.onerror = () => {
      this.streaming = false;
      this.status.textContent = "the server has ended";
      source.close();
    };
  }
}

function heading(replays) {
  return replays.flatMap((replay, place) => [place ? el("span", { class: "in" }, " and ") : null, el("span", {}, replay.label)]);
}

function ordinal(count) {
  const endings = { 1: "st", 2: "nd", 3: "rd" };
  return `${count}${Math.floor(count / 10) % 10 === 1 ? "th" : endings[count % 10] ?? "th"}`;
}

readPage().then((data) => {
  const page = new WatchPage(data);
  if (data.live) page.listenToServer();
  document.documentElement.dataset.ready = isDark() ? "dark" : "light";
  window.goalward = page;
}).catch(showFailure);
