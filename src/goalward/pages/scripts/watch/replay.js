// A recorded run: its frames (epochs or snapshots), the visit counts at each frame, and the posterior that follows from them.

// Why an epoch ended: a flag, the sentence after the end, and the sentence before it.
const ENDED = [
  [1, "visits"], [2, "visits"], [4, "goals"], [8, "the plan was for a fixed number of steps", "the plan is for a fixed number of steps"], [16, "the run was over", "the run will be over"],
  [32, "the step limit of the run was reached", "the step limit of the run will be reached"], [64, "the run was interrupted", "the run will be interrupted"],
  [128, "a dead end ended the run", "a dead end will end the run"], [256, "the environment cut the episode off", "the environment will cut the episode off"],
];

export class Replay {
  constructor(data, world) {
    this.world = world;
    this.label = data.label;
    this.style = data.style;
    this.pairs = world.states * world.actions;
    this.width = Math.ceil(this.pairs / 8);
    this.take(data);
  }

  // Takes the data of the page, or newer data of a run in progress.
  take(data) {
    Object.assign(this, data);
    this.count = data.frames.count;
    this.modelOf = new Map([...(data.models?.frames ?? [])].map((frame, place) => [frame, place]));
    this.times = new Float64Array(data.frames.transitions.rows.length);
    this.visits = new Float64Array(this.pairs);
    this.frame = 0;
    this.total = this.totalVisits();
    this.ofRow = null;
    this.offset = 0;
    this.ends = new Float64Array(data.episodeSteps.length);
    data.episodeSteps.forEach((steps, episode) => { this.ends[episode] = steps + (episode ? this.ends[episode - 1] : 0); });
  }

  get last() {
    return this.count - 1;
  }

  // ---- steps

  // The number of steps of a frame that the page has one by one.
  pathLength(frame = this.frame) {
    return this.frames.pathEnds[frame + 1] - this.frames.pathEnds[frame];
  }

  stepAt(frame, index) {
    const { path, pathEnds, transitions } = this.frames;
    const id = path[pathEnds[frame] + index];
    const row = transitions.rows[id];
    return { row, state: Math.floor(row / this.world.actions), action: row % this.world.actions, successor: transitions.successors[id] };
  }

  // The `back`-th last step before the current moment, also from earlier frames; null if the page does not have it.
  stepBefore(back = 1) {
    let [frame, index] = [this.frame, this.offset - back];
    while (index < 0) {
      frame -= 1;
      if (frame < 0 || this.pathLength(frame) < this.frames.steps[frame] || this.frames.epoch[frame + 1] > this.frames.epoch[frame] + 1) return null;
      index += this.pathLength(frame);
    }
    return this.stepAt(frame, index);
  }

  // The state of the agent: the state after its last step, or the state in which its next step begins; null if unknown.
  get position() {
    return this.stepBefore()?.successor ?? (this.offset < this.pathLength() ? this.stepAt(this.frame, this.offset).state : null);
  }

  // Whether a step slipped: its pair has a successor with probability at least 1/2 in the true model, and led elsewhere.
  slipped({ row, successor }) {
    const { truth } = this.world;
    if (!truth) return false;
    let [chance, most] = [0, 0];
    for (let i = truth.indptr[row]; i < truth.indptr[row + 1]; i += 1) {
      if (truth.probabilities[i] > most) most = truth.probabilities[i];
      if (truth.successors[i] === successor) chance = truth.probabilities[i];
    }
    return most >= 0.5 && chance < most - 1e-9;
  }

  // Whether slips can happen: some transition of the true model has a probability of at least 1/2 and less than 1.
  get canSlip() {
    return Boolean(this.world.truth?.probabilities.some((chance) => chance >= 0.5 && chance < 1));
  }

  // Whether the current moment is the end of its epoch.
  get epochOver() {
    return this.offset >= this.frames.steps[this.frame];
  }

  // The number of steps of the run before the current moment.
  get time() {
    return this.frames.start_step[this.frame] + this.offset;
  }

  // The number of episodes that had ended after `time` steps.
  episodesBefore(time) {
    let [low, high] = [0, this.ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The episode of the current moment, counted from 0, and its steps so far. A step to the goal belongs to its episode.
  get moment() {
    const { time } = this;
    const arrived = this.offset > 0 && this.position === this.world.states;
    const episode = this.episodesBefore(time) - arrived;
    return { episode, steps: time - (episode ? this.ends[episode - 1] : 0), arrived };
  }

  // Moves to the moment after `time` steps of the run.
  moveToTime(time) {
    let [low, high] = [0, this.last];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.frames.start_step[middle] <= time) low = middle;
      else high = middle - 1;
    }
    this.moveTo(low, time - this.frames.start_step[low]);
  }

  // Moves to a frame, and sets the counts to those before its first step.
  moveTo(frame, offset = 0) {
    const wanted = Math.min(Math.max(frame, 0), this.last);
    const { seen, times, seenEnds, transitions } = this.frames;
    const sign = wanted > this.frame ? 1 : -1;
    const [from, to] = sign > 0 ? [this.frame, wanted] : [wanted, this.frame];
    for (let i = seenEnds[from]; i < seenEnds[to]; i += 1) {
      this.times[seen[i]] += sign * times[i];
      this.visits[transitions.rows[seen[i]]] += sign * times[i];
    }
    this.frame = wanted;
    this.offset = Math.min(Math.max(offset, 0), this.pathLength());
  }

  totalVisits() {
    const total = new Float64Array(this.world.states);
    const { seen, times, transitions } = this.frames;
    for (let i = 0; i < seen.length; i += 1) total[Math.floor(transitions.rows[seen[i]] / this.world.actions)] += times[i];
    return total;
  }

  plays(pair, frame = this.frame) {
    return (this.frames.played[frame * this.width + (pair >> 3)] >> (pair & 7)) & 1;
  }

  // The actions that the plan plays in a state.
  actionsOf(state, frame = this.frame) {
    const actions = [];
    for (let action = 0; action < this.world.actions; action += 1) if (this.plays(state * this.world.actions + action, frame)) actions.push(action);
    return actions;
  }

  // The likeliest actions of the plan in a state: those at least half as likely as the likeliest one.
  likelyActions(state) {
    const shares = this.actionsOf(state).map((action) => [action, this.share(state * this.world.actions + action)]);
    const largest = Math.max(...shares.map(([, share]) => share));
    return shares.filter(([, share]) => 2 * share >= largest).map(([action]) => action);
  }

  // The probability of playing an action under the current plan.
  share(pair) {
    if (this.frames.shares) return this.frames.shares[this.frame * this.pairs + pair];
    return this.plays(pair) ? 1 / this.actionsOf(Math.floor(pair / this.world.actions)).length : 0;
  }

  value(state, frame = this.frame) {
    return this.frames.values ? this.frames.values[frame * this.world.states + state] : NaN;
  }

  stateVisits(state) {
    let sum = 0;
    for (let action = 0; action < this.world.actions; action += 1) sum += this.visits[state * this.world.actions + action];
    return sum;
  }

  // The visits of a state at the start of every frame.
  visitsOverTime(state) {
    const { seen, times, seenEnds, transitions } = this.frames;
    const over = new Float64Array(this.count);
    let sum = 0;
    for (let frame = 0; frame < this.count; frame += 1) {
      over[frame] = sum;
      for (let i = seenEnds[frame]; i < seenEnds[frame + 1]; i += 1) {
        if (Math.floor(transitions.rows[seen[i]] / this.world.actions) === state) sum += times[i];
      }
    }
    return over;
  }

  // The transitions seen so far from a state-action pair, which is a row of the model: [successor, times].
  seenFrom(row) {
    if (!this.ofRow) {
      this.ofRow = new Map();
      this.frames.transitions.rows.forEach((each, id) => {
        if (!this.ofRow.has(each)) this.ofRow.set(each, []);
        this.ofRow.get(each).push(id);
      });
    }
    return (this.ofRow.get(row) ?? []).map((id) => [this.frames.transitions.successors[id], this.times[id]]).filter(([, times]) => times > 0);
  }

  // The successors that are possible under the prior.
  supportOf(row) {
    if (!this.belief) return [];
    const { support } = this.belief;
    if (support) return [...support.successors.subarray(support.indptr[row], support.indptr[row + 1])];
    return Number.isFinite(this.world.costs[row]) ? Array.from({ length: this.world.states + 1 }, (_, successor) => successor) : [];
  }

  // The posterior of a row: the mean and standard deviation of each probability, which has a beta distribution.
  posterior(row) {
    const support = this.supportOf(row);
    const { concentration } = this.belief;
    const seen = new Map(this.seenFrom(row));
    const total = this.visits[row] + concentration * support.length;
    return support.map((successor) => {
      const mean = ((seen.get(successor) ?? 0) + concentration) / total;
      return { successor, mean, deviation: Math.sqrt((mean * (1 - mean)) / (total + 1)) };
    });
  }

  // The uncertainty about the outcomes of the actions of a state: the root of the summed variances, averaged over actions.
  uncertainty(state) {
    if (!this.belief) return NaN;
    const { concentration, support } = this.belief;
    let [sum, count] = [0, 0];
    for (let action = 0; action < this.world.actions; action += 1) {
      const row = state * this.world.actions + action;
      if (!Number.isFinite(this.world.costs[row])) continue;
      const size = support ? support.indptr[row + 1] - support.indptr[row] : this.world.states + 1;
      const total = this.visits[row] + concentration * size;
      let squares = size * (concentration / total) ** 2;
      for (const [, times] of this.seenFrom(row)) {
        squares += ((times + concentration) / total) ** 2 - (concentration / total) ** 2;
      }
      sum += Math.sqrt(Math.max(1 - squares, 0) / (total + 1));
      count += 1;
    }
    return count ? sum / count : NaN;
  }

  // The mean of the posterior as a model.
  expectedModel() {
    const indptr = new Uint32Array(this.pairs + 1);
    const successors = [];
    const probabilities = [];
    for (let row = 0; row < this.pairs; row += 1) {
      for (const { successor, mean } of this.posterior(row)) {
        successors.push(successor);
        probabilities.push(mean);
      }
      indptr[row + 1] = successors.length;
    }
    return { indptr, successors, probabilities, costs: this.planningCosts ?? this.world.costs };
  }

  // The model that the current plan was made with; null if the page does not have it.
  plannedModel(frame = this.frame) {
    const place = this.modelOf.get(frame);
    if (place === undefined) return null;
    const { indptr, ends, successors, probabilities } = this.models;
    return {
      indptr: indptr.subarray(place * (this.pairs + 1), (place + 1) * (this.pairs + 1)),
      successors: successors.subarray(ends[place], ends[place + 1]),
      probabilities: probabilities.subarray(ends[place], ends[place + 1]),
      costs: this.planningCosts ?? this.world.costs,
    };
  }

  // Why an epoch ended, in words; `ahead`: why it will end.
  whyEnded(frame, ahead = false) {
    const ended = this.frames.ended[frame];
    const goals = this.frames.goals[frame];
    const counted = { visits: () => this.pairInWords(frame, ahead), goals: () => `it ${ahead ? "will have" : "had"} reached the goal ${goals === 1 ? "once" : `${goals.toLocaleString("en-US")} times`}, as often as this plan allows` };
    const reasons = ENDED.filter(([flag]) => ended & flag).map(([, after, before]) => counted[after]?.() ?? (ahead ? before : after));
    return reasons.join(", and ");
  }

  // A sentence with the visits of the pair that ended an epoch: before the epoch, and in it.
  pairInWords(frame, ahead) {
    const pair = this.frames.pair[frame];
    const reached = `${ahead ? "will have" : "had"} reached its limit of tries`;
    if (pair < 0) return `an action ${reached}`;
    const name = this.pairName(pair);
    const { epoch } = this.frames;
    const past = this.frame - frame;
    if ((past !== 0 && past !== 1) || epoch[frame + 1] !== epoch[frame] + 1) return `${name} ${reached}`;
    const inside = this.seenIn(frame).get(pair) ?? 0;
    const before = this.visits[pair] - (past ? inside : 0);
    if (!before && !inside) return `${name} ${ahead ? "is" : "was"} to be tried for the first time`;
    if (!before && inside === 1) return `${name} ${ahead ? "will have been" : "was"} tried for the first time`;
    const counts = `${before.toLocaleString("en-US")} before, ${inside.toLocaleString("en-US")} in ${past ? "that" : "this"} epoch`;
    return before && inside >= before ? `the tries of ${name} ${ahead ? "will have" : "have"} ${inside > before ? "more than " : ""}doubled (${counts})` : `${name} ${reached} (${counts})`;
  }

  pairName(pair) {
    const { actions, stateNames, actionNames } = this.world;
    const state = stateNames[Math.floor(pair / actions)];
    const action = actionNames[pair % actions];
    return `${/^\d+$/.test(action) ? `action ${action}` : `“${action}”`} in ${/^\d+$/.test(state) ? "state " : ""}${state}`;
  }

  // How often each pair was played in a frame.
  seenIn(frame) {
    const { seen, times, seenEnds, transitions } = this.frames;
    const played = new Map();
    for (let i = seenEnds[frame]; i < seenEnds[frame + 1]; i += 1) {
      const row = transitions.rows[seen[i]];
      played.set(row, (played.get(row) ?? 0) + times[i]);
    }
    return played;
  }

  actionsAt(state, frame = this.frame) {
    return this.actionsOf(state, frame).map((action) => this.world.actionNames[action]).join(" or ");
  }

  // The events of a run, each as [frame, offset, description].
  events(unfinished) {
    const { goals } = this.frames;
    const events = [];
    const first = goals.findIndex((count) => count > 0);
    if (first >= 0) {
      const { states } = this.world;
      const arrival = Array.from({ length: this.pathLength(first) }, (_, index) => index).find((index) => this.stepAt(first, index).successor === states);
      events.push([first, arrival === undefined ? 0 : arrival + 1, "first goal"]);
    }
    let change = 0;
    for (let frame = 1; frame < this.last; frame += 1) {
      if (this.actionsAt(this.world.start, frame) !== this.actionsAt(this.world.start, frame - 1)) change = frame;
    }
    if (change) events.push([change, 0, `last changed its plan at the start ${this.world.layout ? "cell" : "state"}, to ${this.actionsAt(this.world.start, change)}`]);
    events.push([this.last, 0, unfinished ? "now" : "end of the run"]);
    return events.sort(([one], [other]) => one - other);
  }

  get unit() {
    return this.hasPlans ? "epoch" : "snapshot";
  }

  // The most likely successors of a row in a model: [successor, probability].
  static likely(model, row, least = 0.05) {
    const chances = [];
    let total = 0;
    for (let i = model.indptr[row]; i < model.indptr[row + 1]; i += 1) {
      chances.push([model.successors[i], model.probabilities[i]]);
      total += model.probabilities[i];
    }
    return chances.map(([successor, chance]) => [successor, chance / total]).filter(([, chance]) => chance >= least).sort((one, other) => other[1] - one[1]);
  }

  // The successors of a row that the agent imagines: in the model of its plan or, if the page does not have it, in the mean of its posterior.
  imagined(row) {
    const model = this.plannedModel();
    if (model) return { source: "the plan's model", successors: Replay.likely(model, row) };
    if (!this.belief) return { source: "", successors: [] };
    return { source: "the mean of its belief", successors: this.posterior(row).map(({ successor, mean }) => [successor, mean]).filter(([, mean]) => mean >= 0.05).sort((one, other) => other[1] - one[1]) };
  }
}
