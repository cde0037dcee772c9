// One state closely: its actions, the belief about each of their rows against the truth, its visits over time.
import { el, svg, table } from "../shared/elements.js";
import { number, whole } from "../shared/numbers.js";
import { agentColour } from "../shared/colours.js";
import { Chart, swatch } from "../shared/chart.js";

const MOST_BARS = 9;

export class CellView {
  constructor(world, replays, chooseAction) {
    this.world = world;
    this.replays = replays;
    this.chooseAction = chooseAction;
    this.title = el("h2");
    this.parts = replays.map(() => el("section", { class: "cell-agent" }));
    this.chart = new Chart({ label: "visits of the state over time", xLabel: "episode", yLabel: "visits", height: 190 });
    this.host = el("div", { class: "cell-view" },
      el("div", { class: "cell-agents" }, this.parts),
      el("div", { class: "cell-visits" }, el("h3", {}, "Visits over time"), this.chart.host));
  }

  show(state, action) {
    this.replays.forEach((replay, place) => {
      this.parts[place].replaceChildren(
        el("h3", {}, swatch(replay.style), replay.label),
        this.actionTable(replay, state, action),
        this.rowPicture(replay, state * this.world.actions + action));
    });
    if (this.charted !== state || this.counted !== this.replays.map((replay) => replay.count).join()) {
      this.charted = state;
      this.counted = this.replays.map((replay) => replay.count).join();
      this.chart.draw({
        axes: "linear", moving: true, now: this.now,
        series: this.replays.map((replay) => ({
          label: replay.label, style: replay.style, x: replay.frames.start_episode, y: replay.visitsOverTime(state),
        })),
      });
    }
  }

  moveTo(now) {
    this.now = now;
    this.chart.moveTo(now);
  }

  actionTable(replay, state, chosen) {
    const { actions, actionNames, costs, truth } = this.world;
    const model = replay.plannedModel();
    const headings = [{ text: "action" }, { text: "played", right: true }, { text: "Q of the plan", right: true }];
    if (truth) headings.push({ text: "gap", right: true });
    const rows = [];
    for (let action = 0; action < actions; action += 1) {
      const row = state * actions + action;
      if (!Number.isFinite(costs[row])) continue;
      const name = el("button", { type: "button", class: "row-button", "aria-pressed": String(action === chosen), onclick: () => this.chooseAction(action) },
        actionNames[action], replay.plays(row) ? el("span", { class: "tag" }, "plan") : replay.ties(row) ? el("span", { class: "tag faint" }, "tied") : null);
      const cells = [name, whole(replay.visits[row]), number(planValue(replay, model, row))];
      if (truth) cells.push(number(truth.gaps[row]));
      rows.push(cells);
    }
    return table(headings, rows, { class: "actions", "aria-label": `actions, ${replay.label}` });
  }

  // Bars for the probabilities of a row: what is believed, what was seen, what is true.
  rowPicture(replay, row) {
    const { actions, actionNames, truth, stateNames, states } = this.world;
    const posterior = new Map(replay.belief ? replay.posterior(row).map((each) => [each.successor, each]) : []);
    const seen = new Map(replay.seenFrom(row));
    const visits = replay.visits[row];
    const real = new Map();
    if (truth) for (let i = truth.indptr[row]; i < truth.indptr[row + 1]; i += 1) real.set(truth.successors[i], truth.probabilities[i]);
    const weight = (successor) => Math.max(real.get(successor) ?? 0, posterior.get(successor)?.mean ?? 0, visits ? (seen.get(successor) ?? 0) / visits : 0);
    const successors = [...new Set([...real.keys(), ...seen.keys(), ...posterior.keys()])].sort((one, other) => weight(other) - weight(one));
    const drawn = successors.slice(0, MOST_BARS);
    const [left, width, line] = [150, 210, 26];
    const colour = agentColour(replay.style);
    const picture = svg("svg", { class: "row-picture", viewBox: `0 0 ${left + width + 56} ${drawn.length * line + 22}`, role: "img",
      "aria-label": `where ${actionNames[row % actions]} leads: ${drawn.map((successor) => `${successor === states ? "goal" : stateNames[successor]} ${number(weight(successor), 2)}`).join(", ")}` });
    drawn.forEach((successor, place) => {
      const y = place * line + line / 2 + 2;
      const believed = posterior.get(successor);
      const frequency = visits ? (seen.get(successor) ?? 0) / visits : null;
      const share = believed ? believed.mean : frequency;
      const name = successor === states ? "goal" : stateNames[successor];
      picture.append(svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, shortened(name, 22)),
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
    const what = replay.belief ? "bars: mean of the posterior ± one standard deviation" : visits ? "bars: how often it was seen (this agent counts, the page has no posterior of it)" : "never played so far";
    return el("figure", {}, el("figcaption", {}, `where ${actionNames[row % actions]} leads`), picture,
      el("p", { class: "small" }, `${what}${truth ? "; upright line: the truth" : ""}${rest > 0 ? `; ${rest} less likely states are left out` : ""}`));
  }
}

// Q(s, a) in the model of the plan, with its values; NaN if the page has no model of this epoch.
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
