// The panel of one state: its actions, the belief about their outcomes against the truth, visits over time, and what-if.
import { choices, el, svg, table, toggle } from "../shared/elements.js";
import { number, whole } from "../shared/numbers.js";
import { Chart, swatch } from "../shared/chart.js";
import { edited, plan } from "./planner.js";

const MOST_BARS = 6;

export class CellView {
  // `chooseAction` is called with the action that is clicked, `hover` with the action under the pointer or null.
  constructor(world, replays, chooseAction, hover) {
    Object.assign(this, { world, replays, chooseAction, hover });
    this.body = el("div", { class: "cell-agent" });
    this.chart = new Chart({ label: "visits of the state over time", xLabel: "episode", yLabel: "visits", height: 150 });
    this.host = el("div", { class: "cell-view" }, this.body, el("details", { class: "cell-visits" }, el("summary", {}, "Visits over time"), this.chart.host));
  }

  // Shows a state as one of the agents sees it.
  show(place, state, action) {
    const replay = this.replays[place];
    this.body.replaceChildren(el("p", {}, this.summary(replay, state)), this.actionTable(replay, state, action), this.rowPicture(replay, state * this.world.actions + action));
    const charted = [state, ...this.replays.map((each) => each.count)].join();
    if (this.charted === charted) return;
    this.charted = charted;
    this.chart.draw({
      axes: "linear", moving: true, now: this.now,
      series: this.replays.map((each) => ({ label: each.label, style: each.style, x: each.frames.start_episode, y: each.visitsOverTime(state) })),
    });
  }

  // One or two sentences about a state: visits, the agent's action and the cost that it expects.
  summary(replay, state) {
    const { truth } = this.world;
    const visits = replay.stateVisits(state);
    const was = visits ? `was here ${whole(visits)} time${visits === 1 ? "" : "s"}` : "has never been here";
    const expects = Number.isFinite(replay.value(state)) ? ` It expects to pay ${number(replay.value(state))} from here to the goal${truth ? `; the best policy pays ${number(truth.values[state])}` : ""}.` : "";
    return `${replay.label} ${was} and would play ${replay.actionsAt(state)}.${expects}`;
  }

  moveTo(now) {
    this.now = now;
    this.chart.moveTo(now);
  }

  actionTable(replay, state, chosen) {
    const { actions, actionNames, costs, truth } = this.world;
    const model = replay.plannedModel();
    const headings = [{ text: "action" }, { text: "tried", right: true }, { text: "expects", right: true }];
    if (truth) headings.push({ text: "loses", right: true });
    const rows = [];
    for (let action = 0; action < actions; action += 1) {
      const row = state * actions + action;
      if (costs[row] === Infinity) continue; // not available; an unknown cost is NaN
      const name = el("button", { type: "button", class: "row-button", "aria-pressed": String(action === chosen), onclick: () => this.chooseAction(action),
        onpointerenter: () => this.hover(action), onpointerleave: () => this.hover(null), onfocus: () => this.hover(action), onblur: () => this.hover(null) },
        actionNames[action], replay.plays(row) ? el("span", { class: "tag" }, "plan") : null);
      const cells = [name, whole(replay.visits[row]), number(planValue(replay, model, row))];
      if (truth) cells.push(truth.gaps[row] > 0 && truth.gaps[row] < 0.001 ? "< 0.001" : number(truth.gaps[row]));
      rows.push(cells);
    }
    return el("div", {}, table(headings, rows, { class: "actions", "aria-label": `actions, ${replay.label}` }),
      el("p", { class: "small" }, `expects: the cost from here to the goal with this action, in the model of the plan${truth ? "; loses: how much more this action truly costs than the best action" : ""}`));
  }

  // Bars for the probabilities of the successors of a pair: believed, observed and true.
  rowPicture(replay, row) {
    const { actions, actionNames, truth, stateNames, states, layout } = this.world;
    const posterior = new Map(replay.belief ? replay.posterior(row).map((each) => [each.successor, each]) : []);
    const seen = new Map(replay.seenFrom(row));
    const visits = replay.visits[row];
    const real = new Map();
    if (truth) for (let i = truth.indptr[row]; i < truth.indptr[row + 1]; i += 1) real.set(truth.successors[i], truth.probabilities[i]);
    const weight = (successor) => Math.max(real.get(successor) ?? 0, posterior.get(successor)?.mean ?? 0, visits ? (seen.get(successor) ?? 0) / visits : 0);
    const successors = [...new Set([...real.keys(), ...seen.keys(), ...posterior.keys()])].sort((one, other) => weight(other) - weight(one));
    const drawn = successors.slice(0, MOST_BARS);
    const [left, width, line] = [112, 150, 24];
    // A successor on the same floor is named by its cell.
    const floor = layout?.floors ? stateNames[Math.floor(row / actions)].replace(/^.*?, .*?(?=,)/, "") : "";
    const { colour } = replay.style;
    const picture = svg("svg", { class: "row-picture", viewBox: `0 0 ${left + width + 46} ${drawn.length * line + 22}`, role: "img",
      "aria-label": `where ${actionNames[row % actions]} leads: ${drawn.map((successor) => `${successor === states ? "goal" : stateNames[successor]} ${number(weight(successor), 2)}`).join(", ")}` });
    drawn.forEach((successor, place) => {
      const y = place * line + line / 2 + 2;
      const believed = posterior.get(successor);
      const frequency = visits ? (seen.get(successor) ?? 0) / visits : null;
      const share = believed ? believed.mean : frequency;
      const name = successor === states ? "goal" : stateNames[successor].replace(floor, "");
      picture.append(svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, shortened(name, 15)),
        svg("rect", { class: "slot", x: left, y: y - 7, width, height: 14, rx: 2 }));
      if (share !== null) {
        picture.append(svg("rect", { x: left, y: y - 7, width: width * share, height: 14, rx: 2, fill: colour, opacity: 0.75 }),
          svg("text", { x: left + width + 8, y: y + 4 }, number(share, 2)));
      }
      if (believed) {
        const [low, high] = [Math.max(believed.mean - believed.deviation, 0), Math.min(believed.mean + believed.deviation, 1)];
        picture.append(svg("path", { class: "whisker", d: `M${left + width * low},${y}H${left + width * high}M${left + width * low},${y - 4}v8M${left + width * high},${y - 4}v8` }));
      }
      if (truth) {
        const x = left + width * (real.get(successor) ?? 0);
        picture.append(svg("path", { class: "truth", d: `M${x},${y - 10}V${y + 10}` }));
      }
    });
    picture.append(svg("text", { class: "scale", x: left, y: drawn.length * line + 17, "text-anchor": "middle" }, "0"),
      svg("text", { class: "scale", x: left + width, y: drawn.length * line + 17, "text-anchor": "middle" }, "1"));
    const rest = successors.length - drawn.length;
    const what = replay.belief ? `${visits ? "" : "never tried; "}bars: what the agent believes, as the mean of its posterior ± one standard deviation` : visits ? "bars: how often the action led there (the page has no posterior of this agent)" : "never tried so far";
    return el("figure", {}, el("figcaption", {}, `Where “${actionNames[row % actions]}” leads`), picture,
      el("p", { class: "small" }, `${what}${truth ? "; upright line: the truth" : ""}${rest > 0 ? `; ${rest} less likely state${rest === 1 ? " is" : "s are"} left out` : ""}`));
  }
}

// Q(s, a) in the model of the plan, with the values of the plan; NaN if the page has no model of this epoch.
function planValue(replay, model, row) {
  if (!model || !replay.frames.values) return NaN;
  let [mean, total] = [0, 0];
  for (let i = model.indptr[row]; i < model.indptr[row + 1]; i += 1) {
    const successor = model.successors[i];
    mean += model.probabilities[i] * (successor === replay.world.states ? 0 : replay.value(successor));
    total += model.probabilities[i];
  }
  return model.costs[row] + mean / total;
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// What if? The reader walls states off or changes their costs, and each agent's model is replanned.
const MODELS = [
  ["plan", "the model of the plan", "the model that each agent planned with in this epoch"], ["mean", "the expected model", "the mean of the posterior"],
  ["truth", "the true world"],
];

export class WhatIf {
  // `page` has the view, the world, the replays and the chosen state; it redraws itself after a change.
  constructor(page) {
    this.page = page;
    this.plans = null;
    this.costInput = el("input", { type: "number", min: 0, step: "any", "aria-label": "cost of every action here", onchange: () => this.changeCost() });
    this.wallButton = toggle("wall", () => this.toggleWall(), "make this state a wall: steps into it have no effect");
    this.modelChoice = choices("plan with", MODELS, (model) => {
      page.address.set({ model });
      this.replan();
      page.paint();
    });
    this.planButton = el("button", { type: "button", class: "strong", onclick: () => this.showPlans() }, "replan");
    this.undoButton = el("button", { type: "button", onclick: () => this.edit(new Set(), new Map()) }, "undo all changes");
    this.text = el("p", { class: "small what-if-text", "aria-live": "polite" });
    this.host = el("div", { class: "what-if", hidden: !page.world.canPlan },
      el("h3", {}, "What if?"),
      el("div", { class: "options" }, el("label", {}, "cost of every action here ", this.costInput), this.wallButton, el("span", { class: "caption" }, "plan with"), this.modelChoice, this.planButton, this.undoButton),
      this.text);
  }

  // Reads walls and costs as the URL writes them: "3,7" and "3:2.5,7:0".
  read({ walls, costs, model }) {
    if (!MODELS.some(([name]) => name === model)) this.page.view.model = "plan";
    const { states, start } = this.page.world;
    const isState = (state) => Number.isInteger(state) && state >= 0 && state < states;
    this.walls = new Set(walls.split(",").filter((part) => part !== "").map(Number).filter((state) => isState(state) && state !== start));
    this.costs = new Map(costs.split(",").map((part) => part.split(":").map(Number)).filter(([state, cost]) => isState(state) && cost >= 0 && Number.isFinite(cost)));
  }

  show(state) {
    const { actions, costs, start } = this.page.world;
    const first = Array.from({ length: actions }, (_, each) => costs[state * actions + each]).find(Number.isFinite) ?? 0;
    if (document.activeElement !== this.costInput) this.costInput.value = this.costs.get(state) ?? first;
    this.wallButton.show(this.walls.has(state));
    this.wallButton.disabled = state === start;
    this.undoButton.disabled = !this.walls.size && !this.costs.size;
    this.modelChoice.show(this.page.view.model);
    const { replays } = this.page;
    // Disable the models that the page has for no agent in this epoch.
    for (const [name, has] of [["plan", (replay) => replay.plannedModel() || replay.belief], ["mean", (replay) => replay.belief]]) {
      this.modelChoice.querySelector(`[data-value=${name}]`).disabled = !replays.some(has);
    }
  }

  changeCost() {
    const cost = Number(this.costInput.value);
    const costs = new Map(this.costs);
    if (this.costInput.value === "" || !(cost >= 0)) costs.delete(this.page.chosen);
    else costs.set(this.page.chosen, cost);
    this.edit(this.walls, costs);
  }

  toggleWall() {
    const walls = new Set(this.walls);
    if (!walls.delete(this.page.chosen)) walls.add(this.page.chosen);
    this.edit(walls, this.costs);
  }

  edit(walls, costs) {
    Object.assign(this, { walls, costs });
    this.page.address.set({ walls: [...walls].join(","), costs: [...costs].map((each) => each.join(":")).join(",") });
    this.page.showWalls();
    this.showPlans();
    this.page.showCell();
  }

  showPlans() {
    this.replan();
    this.page.setLayer("replanned");
  }

  // Replans for each agent in the chosen model; the plan is null if there is no model.
  replan() {
    const { world, replays, view } = this.page;
    if (!world.canPlan) return;
    this.plans = replays.map((replay) => {
      const model = this.modelOf(replay);
      return model && plan(edited(model, world, this.walls, this.costs), this.walls);
    });
    this.text.textContent = replays.map((replay, place) => {
      const cost = this.plans[place] ? `${number(this.plans[place].values[world.start], 5)} from the start. ` : "";
      return `${replay.label}: ${cost}${this.noteOf(replay)}`;
    }).join(" · ");
    this.modelChoice.show(view.model);
  }

  // If the page does not have the model of the plan, the mean of the posterior replaces it.
  modelOf(replay) {
    const { world, view } = this.page;
    if (view.model === "truth") return { ...world.truth, costs: world.costs };
    return (view.model === "plan" && replay.plannedModel()) || (replay.belief && replay.expectedModel());
  }

  // A note if the page does not have the chosen model of an agent, otherwise an empty text.
  noteOf(replay) {
    const { model } = this.page.view;
    if (model === "truth" || (model === "plan" ? replay.plannedModel() : replay.belief)) return "";
    if (!replay.belief) return `Not replanned: the page has no ${model === "plan" ? "model of this epoch" : "posterior of this agent"}.`;
    return "Replanned with the expected model: the page does not have the model of this epoch.";
  }
}
