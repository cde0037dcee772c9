// A recorded run: its frames, the counts at each of them, and what these say about the world.

const ENDED = [
  [1, "visits"], [2, "visits"], [4, "the goal had been reached as often as this plan may"], [8, "the plan had all its steps"], [16, "the run was over"], [32, "the step limit of the run was reached"],
  [64, "the run was interrupted"], [128, "a dead end ended the run"], [256, "the environment cut the episode off"],
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

  // Takes the data of the page, or newer data of a run that goes on.
  take(data) {
    Object.assign(this, data);
    this.count = data.frames.count;
    this.modelOf = new Map([...(data.models?.frames ?? [])].map((frame, place) => [frame, place]));
    this.times = new Float64Array(data.frames.transitions.rows.length);
    this.visits = new Float64Array(this.pairs);
    this.frame = 0;
    this.total = this.totalVisits();
    this.ofRow = null;
  }

  get last() {
    return this.count - 1;
  }

  // Moves to a frame; the counts are those before its first step.
  moveTo(frame) {
    const wanted = Math.min(Math.max(frame, 0), this.last);
    const { seen, times, seenEnds, transitions } = this.frames;
    const sign = wanted > this.frame ? 1 : -1;
    const [from, to] = sign > 0 ? [this.frame, wanted] : [wanted, this.frame];
    for (let i = seenEnds[from]; i < seenEnds[to]; i += 1) {
      this.times[seen[i]] += sign * times[i];
      this.visits[transitions.rows[seen[i]]] += sign * times[i];
    }
    this.frame = wanted;
  }

  totalVisits() {
    const total = new Float64Array(this.world.states);
    const { seen, times, transitions } = this.frames;
    for (let i = 0; i < seen.length; i += 1) total[Math.floor(transitions.rows[seen[i]] / this.world.actions)] += times[i];
    return total;
  }

  isSet(bits, frame, pair) {
    return (bits[frame * this.width + (pair >> 3)] >> (pair & 7)) & 1;
  }

  plays(pair, frame = this.frame) {
    return this.isSet(this.frames.played, frame, pair);
  }

  ties(pair, frame = this.frame) {
    return this.isSet(this.frames.tied, frame, pair);
  }

  // The probability of playing an action under the current plan.
  share(pair) {
    if (this.frames.shares) return this.frames.shares[this.frame * this.pairs + pair];
    if (!this.plays(pair)) return 0;
    const { actions } = this.world;
    const first = pair - (pair % actions);
    let played = 0;
    for (let action = 0; action < actions; action += 1) played += this.plays(first + action);
    return 1 / played;
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

  // The transitions seen so far from a row: [successor, times].
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

  // The successors that the prior holds possible.
  supportOf(row) {
    if (!this.belief) return [];
    const { support } = this.belief;
    if (support) return [...support.successors.subarray(support.indptr[row], support.indptr[row + 1])];
    return Number.isFinite(this.world.costs[row]) ? Array.from({ length: this.world.states + 1 }, (_, successor) => successor) : [];
  }

  // The posterior of a row: mean and standard deviation of each probability, those of beta variates.
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

  // How unsure the belief is of what the actions of a state do: the root of the summed variances, mean over actions.
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

  // Why the epoch ended, in words.
  whyEnded(frame) {
    const ended = this.frames.ended[frame];
    const reasons = ENDED.filter(([flag]) => ended & flag).map(([flag, words]) => (flag <= 2 ? this.pairInWords(frame) : words));
    return reasons.join(", and ");
  }

  // What the visits of the pair that ended an epoch were, before it and in it.
  pairInWords(frame) {
    const pair = this.frames.pair[frame];
    const { actions, stateNames, actionNames } = this.world;
    if (pair < 0) return "a pair had reached its limit of visits";
    const name = `“${actionNames[pair % actions]}” in ${stateNames[Math.floor(pair / actions)]}`;
    const { epoch, seen, times, seenEnds, transitions } = this.frames;
    if (frame !== this.frame || epoch[frame + 1] !== epoch[frame] + 1) return `${name} had reached its limit of visits`;
    let inside = 0;
    for (let i = seenEnds[frame]; i < seenEnds[frame + 1]; i += 1) if (transitions.rows[seen[i]] === pair) inside += times[i];
    const before = this.visits[pair];
    if (!before && !inside) return `${name} was to be played for the first time`;
    const counts = `${before.toLocaleString("en-US")} before, ${inside.toLocaleString("en-US")} in this epoch`;
    return inside >= before ? `the visits of ${name} doubled (${counts})` : `${name} had reached its limit of visits (${counts})`;
  }

  // The first and last frame that starts at or before a moment of the run.
  frameAt(episode, step) {
    let [low, high] = [0, this.last];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const starts = this.frames.start_episode[middle];
      if (starts < episode || (starts === episode && this.frames.start_step[middle] <= step)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // Whether the plan does the same in a state as in the frame before.
  sameAs(frame, other, state) {
    for (let action = 0; action < this.world.actions; action += 1) {
      const pair = state * this.world.actions + action;
      if (this.plays(pair, frame) !== this.plays(pair, other)) return false;
    }
    return true;
  }

  actionsAt(state, frame) {
    const { actions, actionNames } = this.world;
    return actionNames.filter((_, action) => this.plays(state * actions + action, frame)).join(" or ");
  }

  // Frames worth a look, each as [frame, what happened].
  events(unfinished) {
    const { goals, steps } = this.frames;
    const milestones = [];
    const changes = [];
    const first = goals.findIndex((count) => count > 0);
    if (first >= 0) milestones.push([first, "first goal"]);
    let longest = 0;
    for (let frame = 1; frame < this.last; frame += 1) {
      if (steps[frame] > steps[longest]) longest = frame;
      if (!this.sameAs(frame, frame - 1, this.world.start)) {
        changes.push([frame, `${this.actionsAt(this.world.start, frame - 1)} → ${this.actionsAt(this.world.start, frame)}`]);
      }
    }
    if (changes.length) milestones.push([changes.at(-1)[0], `last change at the start, to ${this.actionsAt(this.world.start, changes.at(-1)[0])}`]);
    if (this.last > 0) milestones.push([longest, `longest ${this.hasPlans ? "epoch" : "snapshot"}: ${steps[longest].toLocaleString("en-US")} steps`]);
    milestones.push([this.last, unfinished ? "newest epoch" : "end of the run"]);
    milestones.sort(([one], [other]) => one - other);
    return { milestones, changes };
  }
}
