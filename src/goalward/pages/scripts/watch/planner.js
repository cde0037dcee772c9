// Planning in the browser: the optimal values and policy of a model of a few hundred states, by policy iteration.
//
// Values of a policy come from state elimination without subtractions (Grassmann, Taksar, Heyman), so they are exact to
// rounding even in models in which the goal is hardly ever reached. Steps into a state with a wall have no effect.

// Returns the model with the reader's walls and costs; rows are lists of [successor, probability].
export function edited(model, world, walls, costs) {
  const { states, actions } = world;
  const rows = [];
  const prices = new Float64Array(states * actions);
  for (let row = 0; row < states * actions; row += 1) {
    const state = Math.floor(row / actions);
    prices[row] = costs.has(state) && Number.isFinite(model.costs[row]) ? costs.get(state) : model.costs[row];
    const mass = new Map();
    let sum = 0;
    for (let i = model.indptr[row]; i < model.indptr[row + 1]; i += 1) {
      const probability = model.probabilities[i];
      if (!(probability > 0)) continue;
      const successor = walls.has(model.successors[i]) ? state : model.successors[i];
      mass.set(successor, (mass.get(successor) ?? 0) + probability);
      sum += probability;
    }
    rows.push([...mass].map(([successor, probability]) => [successor, probability / sum]));
  }
  return { rows, prices, states, actions };
}

// Returns {values, policy}: infinity and -1 where no policy reaches the goal almost surely.
export function plan({ rows, prices, states, actions }, walls = new Set()) {
  const goal = states;
  const policy = properPolicy(rows, states, actions, walls);
  const alive = [...policy.keys()].filter((state) => policy[state] >= 0);
  let values = new Float64Array(states + 1).fill(Infinity);
  values[goal] = 0;
  for (let round = 0; round < 1000; round += 1) {
    values = evaluated(rows, prices, policy, alive, actions, goal);
    let changed = false;
    for (const state of alive) {
      let best = values[state];
      for (let action = 0; action < actions; action += 1) {
        const row = state * actions + action;
        if (!rows[row].length || action === policy[state]) continue;
        const value = actionValue(rows[row], prices[row], values);
        if (value < best - 1e-11 * Math.abs(best)) {
          best = value;
          policy[state] = action;
          changed = true;
        }
      }
    }
    if (!changed) break;
  }
  return { values: values.subarray(0, states), policy };
}

export function actionValue(row, price, values) {
  let sum = price;
  for (const [successor, probability] of row) sum += probability * values[successor];
  return sum;
}

// A policy that reaches the goal almost surely from every state where this is possible; -1 in the other states.
function properPolicy(rows, states, actions, walls) {
  let sure = new Set(Array.from({ length: states }, (_, state) => state).filter((state) => !walls.has(state)));
  for (;;) {
    const policy = new Int32Array(states).fill(-1);
    const reached = new Set([states]);
    for (let grown = true; grown;) {
      grown = false;
      for (const state of sure) {
        if (reached.has(state)) continue;
        let best = 0;
        for (let action = 0; action < actions; action += 1) {
          const row = rows[state * actions + action];
          if (!row.length || !row.every(([successor]) => successor === states || sure.has(successor))) continue;
          let nearer = 0;
          for (const [successor, probability] of row) if (reached.has(successor)) nearer += probability;
          if (nearer > best) {
            best = nearer;
            policy[state] = action;
          }
        }
        if (policy[state] >= 0) {
          reached.add(state);
          grown = true;
        }
      }
    }
    const next = new Set([...sure].filter((state) => reached.has(state)));
    if (next.size === sure.size) return policy;
    sure = next;
  }
}

function evaluated(rows, prices, policy, alive, actions, goal) {
  const size = alive.length;
  const place = new Map(alive.map((state, index) => [state, index]));
  const width = size + 1;
  const mass = new Float64Array(size * width);
  const cost = new Float64Array(size);
  const leaving = new Float64Array(size);
  alive.forEach((state, i) => {
    const row = state * actions + policy[state];
    cost[i] = prices[row];
    for (const [successor, probability] of rows[row]) {
      mass[i * width + (successor === goal ? size : place.get(successor))] += probability;
    }
  });
  for (let k = size - 1; k >= 0; k -= 1) {
    let out = mass[k * width + size];
    for (let j = 0; j < k; j += 1) out += mass[k * width + j];
    leaving[k] = out;
    for (let i = 0; i < k; i += 1) {
      const into = mass[i * width + k];
      if (!into) continue;
      const factor = into / out;
      cost[i] += factor * cost[k];
      for (let j = 0; j < k; j += 1) mass[i * width + j] += factor * mass[k * width + j];
      mass[i * width + size] += factor * mass[k * width + size];
    }
  }
  const values = new Float64Array(goal + 1).fill(Infinity);
  values[goal] = 0;
  for (let k = 0; k < size; k += 1) {
    let sum = cost[k];
    for (let j = 0; j < k; j += 1) {
      const probability = mass[k * width + j];
      if (probability) sum += probability * values[alive[j]];
    }
    values[alive[k]] = sum / leaving[k];
  }
  return values;
}
