// Sentences about an agent: what it imagines, why it planned again and what it learnt. All of them state recorded facts.
import { number, whole } from "../shared/numbers.js";

const DIRECTIONS = { "0,1": "right", "0,-1": "left", "1,0": "down", "-1,0": "up" };

// Where a step leads, seen from a state: "right", "nowhere", "to the goal", "to row 2, column 1".
export function whereTo(world, state, successor) {
  if (successor === world.states) return "to the goal";
  if (successor === state) return "nowhere";
  const { layout, stateNames } = world;
  const name = `to ${/^\d+$/.test(stateNames[successor]) ? "state " : ""}${stateNames[successor]}`;
  if (!layout) return name;
  const [from, to] = [state, successor].map((each) => [Math.floor(layout.cells[each] / layout.columns), layout.cells[each] % layout.columns]);
  return DIRECTIONS[`${to[0] - from[0]},${to[1] - from[1]}`] ?? name;
}

export function percent(share) {
  return share > 0.995 && share < 1 ? "over 99 %" : share > 0 && share < 0.005 ? "under 1 %" : `${Math.round(100 * share)} %`;
}

function times(count, word = "time") {
  return `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
}

// The world in a few sentences, for somebody who sees it for the first time.
export function introduction(world, replays) {
  const isMove = (pair) => world.actionNames[pair % world.actions] !== "give up" && Number.isFinite(world.costs[pair]);
  const costs = [...world.costs].filter((_, pair) => isMove(pair)).sort((one, other) => one - other);
  const [least, most] = [costs[0], costs.at(-1)];
  const price = !costs.length ? "something" : least === most ? number(most) : `${number(least)} to ${number(most)}`;
  const chance = world.truth?.probabilities.some((each) => each < 1) ? ", and its outcome is partly random" : "";
  const two = replays.length > 1 ? ` ${replays[0].label} and ${replays[1].label} learn by different algorithms.` : "";
  return `The agent starts at ○ and must reach the goal ★ at the lowest cost, again and again. Each trip is an episode. A step costs ${price}${chance}. At first, the agent does not know where its actions lead. It learns this by trying them.${two}`;
}

// How to read the page, for the first screen: [word, meaning] pairs. `kind` is the kind of the map.
export function readingGuide(replays, kind) {
  const [plans, looks] = [true, false].map((has) => replays.filter((replay) => replay.hasPlans === has).map(({ label }) => label).join(" and "));
  const [sign, several] = { grid: ["An arrow", "arrows"], graph: ["The word in a circle", "words"] }[kind] ?? ["“Plays”", "actions"];
  const tie = replays.some(({ frames }) => frames.shares) ? "that the agent is about equally likely to take each of these actions" : "that the agent considers these actions equally good";
  return [
    [kind === "list" ? "● before a state" : "The dot", kind === "list" ? "marks the state of the agent." : "is the agent. The line behind the dot shows the agent's last steps."],
    [sign, `is the action that the agent would most likely take in this state. Several ${several} mean ${tie}.`],
    ["Colour and number", "show the chosen layer. The layer “value” is the cost that the agent expects from the state to the goal. At first, this cost is a guess."],
    ...(plans ? [["An epoch", `is a period in which the plan of ${plans} stays the same. The next plan uses all steps so far.`]] : []),
    ...(looks ? [["A snapshot", `shows ${looks} at one moment. There are no epochs: the policy may change at every step.`]] : []),
    ["Regret", "is the price of learning. It is the cost that an agent has paid so far, minus the cost of the best policy."],
  ];
}

// The caption of one agent at the current moment: [heading, sentence] pairs.
export function captionOf(replay, unfinished) {
  const { frame, frames } = replay;
  if (frame === replay.last) return [...(replay.hasPlans ? [["", `The plan shown is the ${unfinished ? "current" : "last"} one.`]] : []), ...trips(replay), ...imagines(replay)];
  if (!replay.hasPlans) return [...tried(replay), ...imagines(replay)];
  const ended = replay.whyEnded(frame, !replay.epochOver);
  const missing = frames.steps[frame] > replay.pathLength(frame) ? ` The page has only the first ${whole(replay.pathLength(frame))} of its ${whole(frames.steps[frame])} steps.` : "";
  return [...began(replay), ...learnt(replay), ...imagines(replay), ...(ended ? [[`This epoch ${replay.epochOver ? "ends" : "will end"}`, `because ${ended}.${missing}`]] : [])];
}

// The last tenth of the trips: how many, and how many steps they took on average. Null if there are too few.
function lastTrips({ episodeSteps }) {
  const lately = episodeSteps.slice(-Math.ceil(episodeSteps.length / 10));
  return episodeSteps.length < 10 ? null : { count: lately.length, mean: lately.reduce((one, other) => one + other, 0) / lately.length };
}

// The lengths of the first trip and of the last ones.
function trips(replay) {
  const lately = lastTrips(replay);
  return lately ? [["Its first trip", `took ${times(replay.episodeSteps[0], "step")}. Its last ${whole(lately.count)} trips took ${number(lately.mean)} steps on average.`]] : [];
}

// The mean lengths of the last trips of two agents. They count as about the same if they differ by at most 5 %.
export function lastTripsCompared(replays) {
  const lately = replays.map(lastTrips);
  if (lately.includes(null)) return "";
  const [short, long] = lately.map(({ mean }) => mean).sort((one, other) => one - other);
  const words = replays.map(({ label }, place) => `${label} ${number(lately[place].mean)}`).join(", ");
  return ` In the last ${whole(lately[0].count)} episodes ${long <= 1.05 * short ? "both took about the same" : "the agents took"}: ${words} steps per trip.`;
}

function follows(replay) {
  const { frame, frames } = replay;
  return frame > 0 && frames.epoch[frame] === frames.epoch[frame - 1] + 1;
}

function began(replay) {
  if (replay.frame === 0) return replay.samples ? [["It starts", "without experience. It draws a world that could be the true world, and follows the best plan for the drawn world."]] : [];
  const reason = follows(replay) && replay.whyEnded(replay.frame - 1);
  return reason ? [["It planned again", `because ${reason}.`]] : [];
}

// What the last epoch taught about the state-action pair that ended it or, without one, about the pair played most.
function learnt(replay) {
  if (!follows(replay)) return [];
  const before = replay.frame - 1;
  const played = [...replay.seenIn(before)].sort((one, other) => other[1] - one[1]);
  const pair = replay.frames.pair[before] >= 0 ? replay.frames.pair[before] : played[0]?.[0];
  if (pair === undefined || !replay.visits[pair]) return [];
  const [successor, seen] = replay.seenFrom(pair).sort((one, other) => other[1] - one[1])[0];
  return [["It learnt", `that ${replay.pairName(pair)} led ${whereTo(replay.world, Math.floor(pair / replay.world.actions), successor)} ${replay.visits[pair] === 1 ? "the only time that it was tried" : `in ${whole(seen)} of ${whole(replay.visits[pair])} tries`}.`]];
}

// What the agent imagines about its action in the first state of the epoch, and which cost the agent expects. If this
// action is imagined to stay in the state, the sentence is about the least tried action on the way from the start.
function imagines(replay) {
  const { world, optimalValue } = replay;
  const expected = replay.value(world.start);
  const sentences = [];
  const here = replay.pathLength() ? replay.stepAt(replay.frame, 0).state : null;
  const thought = replay.plannedModel() && ((here !== null && wayOn(replay, here)) || leastTried(replay));
  if (thought) {
    const { pair, state, successor, chance } = thought;
    const tries = replay.visits[pair] ? `tried ${times(replay.visits[pair])} so far` : "never tried so far";
    sentences.push(["It imagines", `that ${replay.pairName(pair)}, ${tries}, leads ${whereTo(world, state, successor)} (${percent(chance)}${truthOf(world, pair, successor)}).`]);
  }
  if (Number.isFinite(expected)) sentences.push(["It expects", `to pay ${number(expected)} from the start to the goal${optimalValue === null ? "" : `; the best policy pays ${number(optimalValue)}`}.`]);
  return sentences;
}

function truthOf({ truth }, pair, successor) {
  if (!truth) return "";
  let chance = 0;
  for (let i = truth.indptr[pair]; i < truth.indptr[pair + 1]; i += 1) if (truth.successors[i] === successor) chance = truth.probabilities[i];
  return `; in truth ${percent(chance)}`;
}

// The likeliest next state that the agent imagines; null if it imagines that it stays in the state.
function wayOn(replay, state) {
  const pair = state * replay.world.actions + (replay.actionsOf(state)[0] ?? NaN);
  const onward = pair >= 0 && replay.imagined(pair).successors.find(([successor]) => successor !== state);
  return onward ? { pair, state, successor: onward[0], chance: onward[1] } : null;
}

// Follows the imagined way from the start; returns the step on it whose state-action pair was tried least.
function leastTried(replay) {
  const { world } = replay;
  const passed = new Set();
  let least = null;
  for (let state = world.start; state !== world.states && !passed.has(state);) {
    passed.add(state);
    const way = wayOn(replay, state);
    if (!way) break;
    if (!least || replay.visits[way.pair] < replay.visits[least.pair]) least = way;
    state = way.successor;
  }
  return least;
}

// What an agent without plans has tried so far.
function tried(replay) {
  const { world, visits } = replay;
  let [all, some] = [0, 0];
  for (let pair = 0; pair < visits.length; pair += 1) {
    all += world.costs[pair] !== Infinity;
    some += visits[pair] > 0;
  }
  return [["It has tried", `${whole(some)} of the ${whole(all)} state–action pairs in ${times(replay.frames.start_step[replay.frame], "step")}.`]];
}

// The last step in words, for example: episode 2, step 3: “right” in row 0, column 1 slips up.
export function stepInWords(replay, unfinished) {
  const { episode, steps, arrived } = replay.moment;
  const step = replay.stepBefore();
  if (replay.frame === replay.last && !unfinished) return "";
  if (!steps || !step) return `episode ${whole(episode + 1)}, ${steps ? `after ${times(steps, "step")}` : "at its start"}`;
  const verb = replay.slipped(step) ? "slips" : "leads";
  return `episode ${whole(episode + 1)}, step ${whole(steps)}: ${replay.pairName(step.row)} ${arrived ? `reaches the goal after ${times(steps, "step")}` : `${verb} ${whereTo(replay.world, step.state, step.successor)}`}`;
}
