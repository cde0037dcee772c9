// What if? The reader walls states off or changes their costs, and each agent's model is planned anew.
import { choices, el, toggle } from "./elements.js";
import { number } from "./numbers.js";
import { edited, plan } from "./planner.js";

export class WhatIf {
  // The page has the view, the world, the replays and the chosen state, and draws what changes.
  constructor(page) {
    this.page = page;
    this.plans = null;
    this.costInput = el("input", { type: "number", min: 0, step: "any", "aria-label": "cost of every action here", onchange: () => this.changeCost() });
    this.wallButton = toggle("wall", () => this.toggleWall(), "the way into this state becomes staying where one is");
    this.modelChoice = choices("plan with", [["plan", "the model of the plan", "the model that each agent planned with in this epoch"], ["mean", "the expected model", "the mean of the posterior"], ["truth", "the true world"]], (model) => {
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
  read({ walls, costs }) {
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
    const missing = [];
    this.plans = replays.map((replay) => {
      const model = this.modelOf(replay);
      if (!model) {
        missing.push(replay.label);
        return null;
      }
      return plan(edited(model, world, this.walls, this.costs), this.walls);
    });
    const found = replays.map((replay, place) => this.plans[place] && `${replay.label}: ${number(this.plans[place].values[world.start], 5)} from the start`).filter(Boolean);
    const why = view.model === "mean" ? "the page has no posterior of" : "the page has no model of this epoch of";
    this.text.textContent = [...found, ...(missing.length ? [`${why} ${missing.join(" and ")}`] : [])].join(" · ");
    this.modelChoice.show(view.model);
  }

  modelOf(replay) {
    const { world, view } = this.page;
    if (view.model === "truth") return world.truth && { ...world.truth, costs: world.costs };
    return view.model === "mean" ? replay.belief && replay.expectedModel() : replay.plannedModel();
  }
}
