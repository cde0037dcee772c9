// What if? The reader walls states off or changes their costs, and each agent's model is planned anew.
import { choices, el, toggle } from "../shared/elements.js";
import { number } from "../shared/numbers.js";
import { edited, plan } from "./planner.js";

const MODELS = [
  ["plan", "the model of the plan", "the model that each agent planned with in this epoch"], ["mean", "the expected model", "the mean of the posterior"],
  ["truth", "the true world"],
];

export class WhatIf {
  // The page has the view, the world, the replays and the chosen state, and draws what changes.
  constructor(page) {
    this.page = page;
    this.plans = null;
    this.costInput = el("input", { type: "number", min: 0, step: "any", "aria-label": "cost of every action here", onchange: () => this.changeCost() });
    this.wallButton = toggle("wall", () => this.toggleWall(), "the way into this state becomes staying where one is");
    this.modelChoice = choices("plan with", MODELS, (model) => {
      page.address.set({ model });
      this.replan();
      page.paint();
    });
    this.planButton = el("button", { type: "button", class: "strong", onclick: () => this.showPlans() }, "plan anew");
    this.undoButton = el("button", { type: "button", onclick: () => this.edit(new Set(), new Map()) }, "undo all changes");
    this.text = el("p", { class: "small what-if-text", "aria-live": "polite" });
    this.host = el("div", { class: "what-if", hidden: !page.world.canPlan },
      el("h3", {}, "What if?"),
      el("div", { class: "options" }, el("label", {}, "cost of every action here ", this.costInput), this.wallButton, el("span", { class: "caption" }, "plan with"), this.modelChoice, this.planButton, this.undoButton),
      this.text);
  }

  // Walls and costs as the address has them: "3,7" and "3:2.5,7:0".
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

  // Plans anew for each agent in the model that was chosen; null where there is none.
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

  // The mean of the posterior takes the place of the model of a plan that the page does not have.
  modelOf(replay) {
    const { world, view } = this.page;
    if (view.model === "truth") return { ...world.truth, costs: world.costs };
    return (view.model === "plan" && replay.plannedModel()) || (replay.belief && replay.expectedModel());
  }

  // Says so if the chosen model of an agent is not on the page; empty if it is.
  noteOf(replay) {
    const { model } = this.page.view;
    if (model === "truth" || (model === "plan" ? replay.plannedModel() : replay.belief)) return "";
    if (!replay.belief) return `Not planned anew: the page has no ${model === "plan" ? "model of this epoch" : "posterior of this agent"}.`;
    return "Planned anew with the expected model: the page does not have the model of this epoch.";
  }
}
