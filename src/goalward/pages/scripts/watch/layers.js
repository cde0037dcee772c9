// The layers of a map: their meaning, their number in each state, their scales, and the bar below the maps that explains them.
import { el } from "../shared/elements.js";
import { largest, number, quantile } from "../shared/numbers.js";
import { amountColour, css, signColour } from "../shared/colours.js";

export const LAYERS = {
  value: ["value", "the cost that the agent expects from here to the goal"],
  error: ["error", "expected cost minus optimal cost V* (blue: the agent expects too little, orange: too much)"],
  visits: ["visits", "how often the agent had been here before this epoch"],
  uncertainty: ["uncertainty", "how little the agent knows about its actions here: the root of the summed posterior variances, averaged over actions"],
  gap: ["gap", "how much more the agent's action costs here than the best action, in expectation (Q* − V*)"],
  replanned: ["re-planned", "optimal values and actions in the chosen model with your walls and costs"],
};

// Whether a layer has something to show: some layers need the true model, others a posterior.
export function offered(layer, world, replays) {
  switch (layer) {
    case "value": return replays.some((replay) => replay.frames.values);
    case "error": return Boolean(world.truth) && replays.some((replay) => replay.frames.values);
    case "uncertainty": return replays.some((replay) => replay.belief);
    case "gap": return Boolean(world.truth);
    case "replanned": return world.canPlan;
    default: return true;
  }
}

// The number of a state in a layer, for one agent; `plan` is the what-if plan, if there is one.
export function amountIn(layer, world, replay, plan, state) {
  const { truth, actions } = world;
  switch (layer) {
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
    default: return plan ? plan.values[state] : NaN;
  }
}

// The scale of a layer is the same for both agents and for all epochs.
export function layerScale(layer, world, replays) {
  const { truth, states } = world;
  const ofReplays = (array, least) => largest(replays.map((replay) => largest(array(replay), least)), least);
  const known = truth?.values.some(Number.isFinite);
  // A quantile, not the maximum: a few very large values, as in pits, would make all other states look alike.
  const best = Math.max(1e-9, quantile(truth?.values ?? [], 0.8));
  const values = known ? 2 * best : Math.max(1e-9, ...replays.map((replay) => quantile(replay.frames.values ?? [], 0.95)));
  if (layer === "error") {
    const high = known ? best : values;
    return { ...linearScale(high, signColour, true), low: -high };
  }
  if (layer === "visits") return logScale(ofReplays((replay) => replay.total, 2), amountColour);
  if (layer === "gap") return linearScale(truth ? Math.max(1e-9, quantile(truth.gaps, 0.95)) : 1, amountColour, true);
  if (layer !== "uncertainty") return linearScale(values, amountColour, true);
  let most = 1e-9;
  for (const replay of replays) {
    const { frame } = replay;
    replay.moveTo(0);
    for (let state = 0; state < states && replay.belief; state += 1) most = Math.max(most, replay.uncertainty(state));
    replay.moveTo(frame);
  }
  return linearScale(most, amountColour, false);
}

// The bar below the maps: the name of the layer, what it shows, its colours from low to high, and the signs on the maps.
export class ScaleBar {
  constructor(...signs) {
    this.bar = el("canvas", { width: 256, height: 1, class: "bar", "aria-hidden": "true" });
    this.low = el("span");
    this.high = el("span");
    this.text = el("span", { class: "what" });
    this.host = el("div", { class: "scale" }, this.text, el("span", { class: "ends" }, this.low, this.bar, this.high), el("span", { class: "signs" }, signs));
  }

  // `scale`: {low, high, share, colour, clipped}; numbers beyond the ends of a clipped scale get the colour of the end.
  show([name, what], scale) {
    if (this.shown === scale) return;
    this.shown = scale;
    const signed = scale.low < 0;
    this.text.replaceChildren(el("b", {}, name), `: ${what}`);
    this.low.textContent = `${signed && scale.clipped ? "≤ " : ""}${number(scale.low)}`;
    this.high.textContent = `${scale.clipped ? "≥ " : ""}${number(scale.high)}`;
    const context = this.bar.getContext("2d");
    for (let x = 0; x < 256; x += 1) {
      context.fillStyle = css(scale.colour(signed ? (2 * x) / 255 - 1 : x / 255));
      context.fillRect(x, 0, 1, 1);
    }
  }
}

export function linearScale(high, colour, clipped) {
  return { low: 0, high, share: (amount) => amount / high, colour, clipped };
}

export function logScale(high, colour) {
  return { low: 1, high, share: (amount) => Math.log(amount) / Math.log(high), colour, clipped: false };
}
