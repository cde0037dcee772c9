// The page of `goalward report`: the regret of every agent in every world, and all that belongs to it.
import { choices, el, svg, table, toggle } from "../shared/elements.js";
import { number, whole } from "../shared/numbers.js";
import { agentColour } from "../shared/colours.js";
import { Chart, repaintSwatches, swatch } from "../shared/chart.js";
import { Page, showPage } from "../shared/page.js";

const TERMS = [
  ["regret", "costs paid minus the optimal cost of as many episodes: mean over runs at the last episode, with half the width of its interval"],
  ["median", "the median of the regret over runs"],
  ["gap regret", "the sum of the optimality gaps Q*(s, a) − V*(s) of the actions played: the same expectation as regret, less luck"],
  ["exponent", "the slope of log gap regret on log episodes over the last tenth to the last episode: 0.5 is a square root, 1 is linear"],
  ["steps", "the mean number of steps of a run"],
  ["seconds", "the mean processor time of a run"],
  ["interval", "covers the mean over all runs that could have been made with the stated confidence, if runs are roughly normal"],
];
const RUN_COLUMNS = ["world", "agent", "run", "seed", "world setting", "state", "episodes", "steps", "seconds", "regret", "gap regret", "key"];

const MEASURES = [
  ["regret", "realised regret", TERMS[0][1]], ["gap_regret", "gap regret", TERMS[2][1]], ["steps", "steps", "the number of steps of each episode"],
];
const AXIS_NAMES = { regret: "regret", gap_regret: "gap regret", steps: "steps of the episode" };

class ReportPage extends Page {
  constructor(data) {
    super(data);
    this.charts = [];
    // Without any optimal cost there is no regret to choose.
    const hasRegret = data.studies.some((study) => study.worlds.some((world) => world.hasRegret));
    this.choosable = MEASURES.filter(([name]) => name === "steps" || hasRegret);
    this.begin({ measure: this.choosable[0][0], axes: "linear", band: "1", runs: "0", hide: "", only: "" });
  }

  get hidden() {
    return new Set(this.view.hide === "" ? [] : this.view.hide.split(",").map(decodeURIComponent));
  }

  // ---- building

  build() {
    const { studies, title } = this.data;
    const one = studies.length === 1;
    const facts = one ? [studies[0].description, `${whole(studies[0].stored)} runs`, studies[0].regime].filter(Boolean) : studies.map((study) => study.name);
    document.getElementById("page").replaceChildren(
      this.header(title, facts),
      ...this.data.troubles.map((trouble) => el("p", { class: "banner", role: "status" }, trouble)),
      this.buildControls(),
      ...studies.flatMap((study) => this.buildStudy(study, one)),
      ...(this.data.claims.length ? [this.buildClaims()] : []),
      this.buildFooter());
  }

  buildControls() {
    this.measures = choices("measure", this.choosable, (measure) => this.change({ measure }));
    this.axes = choices("axes", [["linear", "linear"], ["log", "log"]], (axes) => this.change({ axes }));
    this.band = toggle("intervals", () => this.change({ band: this.view.band === "1" ? "0" : "1" }), "bands of pointwise intervals");
    this.runs = toggle("single runs", () => this.change({ runs: this.view.runs === "1" ? "0" : "1" }));
    const agents = new Map(this.data.studies.flatMap((study) => study.agents).map((agent) => [agent.label, agent]));
    this.agents = [...agents.values()];
    this.legend = this.agents.map((agent) => {
      const button = el("button", { type: "button", class: "agent-toggle", "data-agent": agent.label, onclick: () => this.toggleAgent(agent.label) }, swatch(agent.style), el("span", {}, agent.label));
      return button;
    });
    return el("div", { class: "controls" },
      el("div", { class: "options" }, this.measures, this.axes, this.band, this.runs),
      el("div", { class: "options legend", role: "group", "aria-label": "agents" }, this.legend));
  }

  buildStudy(study, one) {
    const parts = [];
    if (!one) parts.push(el("h2", { class: "study-title" }, study.name), el("p", { class: "facts" }, study.description));
    parts.push(...study.problems.map((problem) => el("p", { class: "banner", role: "status" }, problem)));
    const cards = study.worlds.map((world) => this.buildWorld(study, world));
    parts.push(el("div", { class: `worlds ${cards.length > 1 ? "two" : "one"}` }, cards));
    parts.push(this.buildSummary(study));
    parts.push(this.buildFacts(study), this.buildRuns(study));
    return parts;
  }

  buildWorld(study, world) {
    const chart = new Chart({ label: `curves in ${world.name}`, xLabel: "episode", yLabel: "regret", height: 320 });
    this.charts.push({ chart, study, world });
    const note = [study.runs, `${number(100 * study.level)} % intervals`, study.regime].filter(Boolean).join(", ");
    return el("section", { class: "card world" }, el("div", { class: "card-head" }, el("h2", {}, world.name)), chart.host, el("p", { class: "small" }, note),
      study.caveats.map((caveat) => el("p", { class: "small caveat" }, `* ${caveat}`)));
  }

  buildSummary(study) {
    const headings = study.summaryHeadings.map((text, place) => ({ text, right: place > 0 }));
    const worlds = study.worlds.map((world) => el("div", {},
      el("h3", {}, world.name, el("span", { class: "small" }, `after ${whole(world.episodes)} episodes, ${study.summaryTitle}`)),
      table(headings, world.rows.map((row) => row.map((text, place) => (place ? text : named(study, text)))), { class: "summary", "aria-label": `summary of ${world.name}` })));
    const sweeps = study.sweeps.length ? el("div", {}, el("h3", {}, "Gap regret grows as a power of"),
      table(["world", "agent", "setting", "exponent"].map((text, place) => ({ text, right: place === 3 })), study.sweeps, { "aria-label": "growth" })) : null;
    return el("section", { class: "card summary-card" }, el("div", { class: "card-head" }, el("h2", {}, "Summary")), worlds, sweeps,
      study.notes.length ? el("ul", { class: "small" }, study.notes.map((note) => el("li", {}, note))) : null,
      el("details", {}, el("summary", {}, "What the columns mean"), el("dl", { class: "terms" }, TERMS.map(([term, text]) => [el("dt", {}, term), el("dd", {}, text)]))));
  }

  buildFacts(study) {
    const rows = study.facts.map((fact) => [
      fact.world, named(study, fact.agent), fact.algorithm, list(fact.settings), list(fact.told), list(fact.notes), causes(study, fact)]);
    return el("section", { class: "card" }, el("details", {}, el("summary", {}, el("h2", {}, "The agents: settings, what they were told, what ended their epochs")),
      table(["world", "agent", "algorithm", "settings", "told of the world", "notes", "epochs ended by"].map((text) => ({ text })), rows, { class: "facts-table", "aria-label": "agents" }),
      el("p", { class: "small" }, "Several conditions may end an epoch at once, and each of them is counted: the counts may add up to more than the epochs.")));
  }

  buildRuns(study) {
    const settings = el("dl", { class: "settings" }, Object.entries(study.settings).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
    const host = el("div");
    const details = el("details", { ontoggle: () => {
      // Hundreds of rows cost time, so they are made when they are asked for.
      if (!details.open || host.hasChildNodes()) return;
      host.append(table(RUN_COLUMNS.map((text, place) => ({ text, right: place === 2 || (place > 5 && place < 11) })), study.runRows, { class: "runs-table", "aria-label": "runs" }));
      if (study.runRowsLeftOut) host.append(el("p", { class: "small" }, `${whole(study.runRowsLeftOut)} more runs are not listed.`));
    } }, el("summary", {}, el("h2", {}, `The runs: ${whole(study.planned)}, with their seeds`)), settings, host);
    const text = study.text ? el("details", {}, el("summary", {}, el("h2", {}, "The study file")), el("pre", {}, study.text)) : null;
    return el("section", { class: "card" }, details, text);
  }

  buildClaims() {
    const marks = { holds: "✓", "does not hold": "✗", "not decided": "?" };
    const rows = this.data.claims.map((claim) => [
      el("span", { class: `verdict ${claim.verdict.replaceAll(" ", "-")}` }, `${marks[claim.verdict] ?? ""} ${claim.verdict}`), claim.claim, claim.figure + (claim.note ? ` (${claim.note})` : ""), claim.ran]);
    return el("section", { class: "card claims" }, el("div", { class: "card-head" }, el("h2", {}, "Claims of the paper")),
      table(["verdict", "claim", "measured", "run"].map((text) => ({ text })), rows, { "aria-label": "claims" }));
  }

  buildFooter() {
    const versions = this.data.studies.flatMap((study) => study.facts).find((fact) => Object.keys(fact.versions).length)?.versions ?? {};
    const made = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(", ");
    return el("footer", {},
      el("p", { class: "small" }, "A cross ends a curve where the first of its runs was cut off. Single runs are thin lines; the mean is the thick one. Agents of one run face the same luck."),
      ...(made ? [el("p", { class: "small" }, `The first run was made with ${made}.`)] : []),
      this.made());
  }

  // ---- the view

  readView() {
    this.draw();
  }

  change(view) {
    this.address.set(view);
    this.draw();
  }

  get measure() {
    return (this.choosable.find(([name]) => name === this.view.measure) ?? this.choosable[0])[0];
  }

  nextMeasure() {
    const names = this.choosable.map(([name]) => name);
    this.change({ measure: names[(names.indexOf(this.measure) + 1) % names.length] });
  }

  toggleAgent(label) {
    const { hidden } = this;
    if (!hidden.delete(label)) hidden.add(label);
    this.change({ hide: [...hidden].map(encodeURIComponent).join(",") });
  }

  repaint() {
    repaintSwatches();
    this.draw();
  }

  draw() {
    const { view, hidden } = this;
    const { measure } = this;
    const axes = view.axes === "log" ? "log" : "linear";
    this.measures.show(measure);
    this.axes.show(axes);
    this.band.show(view.band === "1");
    this.runs.show(view.runs === "1");
    this.legend.forEach((button) => button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.agent))));
    for (const { chart, study, world } of this.charts) {
      const styles = new Map(study.agents.map((agent) => [agent.label, agent.style]));
      const shown = world.cells.filter((cell) => !hidden.has(cell.agent) && cell.stored);
      chart.draw({
        axes, last: world.episodes, yLabel: AXIS_NAMES[measure],
        empty: this.whyEmpty(world, shown, measure),
        series: shown.map((cell) => this.series(cell, styles.get(cell.agent), measure, axes)),
      });
    }
  }

  whyEmpty(world, shown, measure) {
    if (!world.cells.some((cell) => cell.stored)) return "no runs are stored yet";
    if (!shown.length) return "all agents are switched off";
    return measure === "steps" || world.hasRegret ? "no episode was finished by all runs" : "the optimal cost is not known here: there is no regret";
  }

  series(cell, style, measure, axes) {
    const { x, y, low, high, runX, runs } = cell[measure];
    // In the first episodes intervals reach below zero, which a logarithmic axis cannot show.
    const from = axes === "log" ? x.findIndex((episode) => episode >= Math.min(10, x[x.length - 1] / 100)) : 0;
    const part = (values) => (values ? values.subarray(Math.max(from, 0)) : null);
    const banded = this.view.band === "1" && low;
    return {
      label: cell.agent, style, x: part(x), y: part(y), low: banded ? part(low) : null, high: banded ? part(high) : null,
      runs: this.view.runs === "1" ? runs.map((run) => run.subarray(Math.max(from, 0), Math.max(from, 0) + part(runX).length)) : null, runX: part(runX), cut: cell.cut,
    };
  }

  keys() {
    return {
      g: () => this.nextMeasure(), l: () => this.change({ axes: this.view.axes === "log" ? "linear" : "log" }),
      b: () => this.band.click(), r: () => this.runs.click(),
      ...Object.fromEntries(this.agents.map(({ label }, place) => [place + 1, () => this.toggleAgent(label)])),
    };
  }
}

function named(study, label) {
  const agent = study.agents.find((each) => each.label === label);
  return el("span", { class: "named" }, agent ? swatch(agent.style) : null, label);
}

function list(entries) {
  const lines = Object.entries(entries).map(([name, value]) => el("div", {}, el("span", { class: "soft" }, `${name} `), value));
  return lines.length ? el("div", {}, lines) : "–";
}

// What ended the epochs of an agent, as a bar with its shares in words.
function causes(study, fact) {
  const total = Object.values(fact.endedBy).reduce((sum, count) => sum + count, 0);
  if (!total) return "–";
  const colour = agentColour(study.agents.find((agent) => agent.label === fact.agent).style);
  let start = 0;
  const parts = Object.entries(fact.endedBy).map(([name, count], place) => {
    const width = (100 * count) / total;
    start += width;
    return svg("rect", { x: start - width, width: Math.max(width - 0.6, 0), height: 10, fill: colour, opacity: 1 - 0.28 * Math.min(place, 3) }, svg("title", {}, name));
  });
  const words = Object.entries(fact.endedBy).map(([name, count]) => el("div", {}, `${name} `, el("span", { class: "soft" }, `${whole(count)} (${number((100 * count) / total, 2)} %)`)));
  return el("div", { class: "causes" }, svg("svg", { viewBox: "0 0 100 10", width: 150, height: 10, preserveAspectRatio: "none", "aria-hidden": "true" }, parts), words);
}

showPage(ReportPage);
