// The base class of both watch pages: the notes and settings of one or two agents, and playing at a chosen speed.
import { choices, el, icon } from "../shared/elements.js";
import { whole } from "../shared/numbers.js";
import { swatch } from "../shared/chart.js";
import { Page } from "../shared/page.js";

const narrow = matchMedia("(max-width: 640px)");

// Subclasses have `agents`, `over`, `rewind` and `advance(seconds)`, which moves the replay on.
export class AgentsPage extends Page {
  agentsHeader(facts, ...corner) {
    const { data, agents } = this;
    const names = agents.flatMap((agent, place) => [place ? el("span", { class: "in" }, " and ") : null, el("span", {}, agent.label)]);
    const all = [`${whole(data.episodes)} episodes`, `seed ${data.seed}`, ...(agents.length > 1 ? ["same random numbers for both"] : []), ...facts];
    return this.header([names, el("span", { class: "in" }, " in "), data.worldName], all, ...corner);
  }

  notes(notesOf) {
    const notes = this.agents.flatMap((agent) => [...(agent.notes.caveat ? [`${agent.label}: ${agent.notes.caveat}.`] : []), ...notesOf(agent)]);
    const warnings = this.agents.filter((agent) => agent.truncation).map((agent) => `The run of ${agent.label} was cut off: ${agent.truncation}.`);
    return el("ul", { class: "notes", hidden: !notes.length && !warnings.length },
      warnings.map((note) => el("li", { class: "warning" }, note)), notes.map((note) => el("li", {}, note)));
  }

  // One drawing for each agent, below its name.
  cards(drawing, kind = "") {
    this.captions = [];
    return el("div", { class: `agents ${this.agents.length > 1 ? "two" : "one"} ${kind}` }, this.agents.map((agent) => {
      const caption = { now: el("p", { class: "now" }), step: el("p", { class: "step" }), why: el("p", { class: "why", "aria-live": "polite" }), head: el("div", { class: "card-head" }, el("h2", {}, swatch(agent.style), agent.label)) };
      this.captions.push(caption);
      caption.card = el("section", { class: "agent card" }, caption.head, caption.now, drawing(agent), caption.step, caption.why);
      return caption.card;
    }));
  }

  footer(before = "") {
    const settings = (agent) => {
      const known = Object.entries(agent.known ?? {}).map(([name, value]) => [`${name} (known in advance)`, value]);
      const notes = Object.entries(agent.notes).filter(([name]) => !(name in agent.settings));
      return el("div", {}, el("h3", {}, swatch(agent.style), agent.label),
        el("dl", { class: "settings" }, [["algorithm", agent.name], ...Object.entries(agent.settings), ...known, ...notes]
          .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
    };
    return el("footer", {},
      el("details", {}, el("summary", {}, "Settings"), el("div", { class: "settings-list" }, this.agents.map(settings))), this.made(before));
  }

  controlsOf(player, ...others) {
    this.player = el("div", { class: "player" }, player);
    this.controls = el("div", { class: "controls" }, this.player, others);
    narrow.addEventListener("change", () => this.placePlayer());
    return this.controls;
  }

  // Puts the player directly under `playerMap` on a narrow screen, and above all maps on a wide one.
  placePlayer() {
    const place = narrow.matches ? this.playerMap.parentElement : this.controls;
    if (this.player.parentElement === place) return; // Moving an element takes the focus away from it.
    if (narrow.matches) this.playerMap.after(this.player);
    else place.prepend(this.player);
  }

  playControl() {
    this.playing = false;
    this.playButton = el("button", { type: "button", class: "play", "aria-label": "play", onclick: () => this.play(!this.playing) }, icon("play"));
    return this.playButton;
  }

  // `speeds`: [name, text on the button, tooltip].
  speedControl(speeds) {
    this.speeds = speeds.map(([name]) => name);
    this.speed = choices("speed", speeds, (speed) => this.setSpeed(speed));
    return this.speed;
  }

  setSpeed(speed) {
    this.address.set({ speed });
    this.speed.show(speed);
  }

  readSpeed() {
    if (!this.speeds.includes(String(this.view.speed))) this.view.speed = this.address.defaults.speed;
    this.speed.show(String(this.view.speed));
  }

  faster(by) {
    const place = this.speeds.indexOf(String(this.view.speed)) + by;
    this.setSpeed(this.speeds[Math.min(Math.max(place, 0), this.speeds.length - 1)]);
  }

  // If a button has the focus, the space key presses it.
  playKeys(event) {
    return { " ": () => !event.target.closest("button, summary") && this.play(!this.playing), "+": () => this.faster(1), "-": () => this.faster(-1) };
  }

  play(on) {
    this.playing = on;
    this.playButton.replaceChildren(icon(on ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", on ? "pause" : "play");
    // Screen readers read captions aloud only while the replay is paused.
    for (const { why } of this.captions) why.setAttribute("aria-live", on ? "off" : "polite");
    if (!on) return;
    if (this.over) this.rewind();
    let before = null;
    const tick = (time) => {
      if (!this.playing) return;
      if (before !== null) this.advance((time - before) / 1000);
      before = time;
      if (this.over) this.play(false);
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}

// A button that moves through a replay.
export function moveButton(shape, name, act) {
  return el("button", { type: "button", "aria-label": name, title: name, onclick: act }, icon(shape));
}
