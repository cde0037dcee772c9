// Below the maps: the name of the layer, what it shows, its colours from low to high, and the signs on the maps.
import { el } from "../shared/elements.js";
import { number } from "../shared/numbers.js";
import { css } from "../shared/colours.js";

export class ScaleBar {
  constructor(...signs) {
    this.bar = el("canvas", { width: 256, height: 1, class: "bar", "aria-hidden": "true" });
    this.low = el("span");
    this.high = el("span");
    this.text = el("span", { class: "what" });
    this.host = el("div", { class: "scale" }, this.text, el("span", { class: "ends" }, this.low, this.bar, this.high), el("span", { class: "signs" }, signs));
  }

  // `scale`: {low, high, share, colour, clipped}; what lies beyond the ends of a clipped scale has the colour of the end.
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
