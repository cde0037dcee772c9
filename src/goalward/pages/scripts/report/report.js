// The curves of `goalward report` and their switches; the template holds the rest of the page.
import { choices, el, sortable, toggle } from "../shared/elements.js";
import { Chart, swatch } from "../shared/chart.js";
import { Page, showPage } from "../shared/page.js";

// Each measure: its name on the button, its meaning, its name on the axis.
const MEASURES = {
  regret: ["realised regret", "costs paid, minus the optimal cost of as many episodes", "regret"],
  gap_regret: ["gap regret", "the sum of the optimality gaps Q*(s, a) − V*(s) of the actions played: it has the same expectation as regret, but less noise", "gap regret"],
  steps: ["steps", "the number of steps of each episode", "steps of the episode"],
};

class ReportPage extends Page {
  constructor(data) {
    super(data);
    this.styles = new Map(data.studies.flatMap((study) => study.agents).map(({ label, style }) => [label, style]));
    this.worlds = data.studies.flatMap((study) => study.worlds);
    // Without any optimal cost there is no regret to choose.
    this.choosable = Object.keys(MEASURES).filter((name) => name === "steps" || this.worlds.some((world) => world.hasRegret));
    this.begin({ measure: this.choosable[0], axes: "linear", band: "1", runs: "0", hide: "" });
  }

  build() {
    document.querySelector(".corner").append(this.theme);
    this.measures = choices("measure", this.choosable.map((name) => [name, ...MEASURES[name]]), (measure) => this.change({ measure }));
    this.axes = choices("axes", [["linear", "linear"], ["log", "log"]], (axes) => this.change({ axes }));
    this.band = toggle("intervals", () => this.change({ band: this.view.band === "1" ? "0" : "1" }), "pointwise confidence intervals, as bands");
    this.runs = toggle("single runs", () => this.change({ runs: this.view.runs === "1" ? "0" : "1" }));
    this.legend = [...this.styles].map(([label, style]) =>
      el("button", { type: "button", class: "agent-toggle", "data-agent": label, onclick: () => this.toggleAgent(label) }, swatch(style), el("span", {}, label)));
    document.querySelector(".controls").append(
      el("div", { class: "options" }, this.measures, this.axes, this.band, this.runs),
      el("div", { class: "options legend", role: "group", "aria-label": "agents" }, this.legend));
    // Agents in the tables get the line and marker of their curve.
    for (const name of document.querySelectorAll(".named")) {
      const style = this.styles.get(name.dataset.agent);
      if (style) name.prepend(swatch(style));
    }
    document.querySelectorAll("table.summary").forEach(sortable);
    const places = document.querySelectorAll(".curves");
    this.charts = this.worlds.map((world, place) => {
      const chart = new Chart({ label: `curves in ${world.name}`, xLabel: "episode", yLabel: "regret", height: 320 });
      places[place].append(chart.host);
      return chart;
    });
  }

  get hidden() {
    return new Set(this.view.hide === "" ? [] : this.view.hide.split(",").map(decodeURIComponent));
  }

  get measure() {
    return this.choosable.includes(this.view.measure) ? this.view.measure : this.choosable[0];
  }

  change(view) {
    this.address.set(view);
    this.readView();
  }

  toggleAgent(label) {
    const { hidden } = this;
    if (!hidden.delete(label)) hidden.add(label);
    this.change({ hide: [...hidden].map(encodeURIComponent).join(",") });
  }

  readView() {
    const { view, hidden, measure } = this;
    const axes = view.axes === "log" ? "log" : "linear";
    this.measures.show(measure);
    this.axes.show(axes);
    this.band.show(view.band === "1");
    this.runs.show(view.runs === "1");
    this.legend.forEach((button) => button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.agent))));
    this.worlds.forEach((world, place) => {
      const shown = world.cells.filter((cell) => !hidden.has(cell.agent) && cell.stored);
      this.charts[place].draw({
        axes, labels: true, last: world.episodes, yLabel: MEASURES[measure][2], empty: this.whyEmpty(world, shown, measure),
        series: shown.map((cell) => this.series(cell, measure, axes)),
      });
    });
  }

  whyEmpty(world, shown, measure) {
    if (!world.cells.some((cell) => cell.stored)) return "no runs are stored yet";
    if (!shown.length) return "all agents are switched off";
    return measure === "steps" || world.hasRegret ? "no episode was finished by all runs" : "no regret: the optimal cost of this world is not known";
  }

  series(cell, measure, axes) {
    const { x, y, low, high, runX, runs } = cell[measure];
    // Logarithmic axes leave out the first episodes, whose intervals reach below zero.
    const from = axes === "log" ? Math.max(x.findIndex((episode) => episode >= Math.min(10, x[x.length - 1] / 100)), 0) : 0;
    const rest = (values) => values?.subarray(from);
    const banded = this.view.band === "1";
    return {
      label: cell.agent, style: this.styles.get(cell.agent), cut: cell.cut, x: rest(x), y: rest(y), low: banded ? rest(low) : null, high: banded ? rest(high) : null,
      runX: rest(runX), runs: this.view.runs === "1" ? runs.map(rest) : null,
    };
  }

  keys() {
    const next = this.choosable[(this.choosable.indexOf(this.measure) + 1) % this.choosable.length];
    return {
      g: () => this.change({ measure: next }), l: () => this.change({ axes: this.view.axes === "log" ? "linear" : "log" }),
      b: () => this.band.click(), r: () => this.runs.click(),
      ...Object.fromEntries([...this.styles.keys()].map((label, place) => [place + 1, () => this.toggleAgent(label)])),
    };
  }
}

showPage(ReportPage);
