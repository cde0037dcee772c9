// Where the states of a world lie: on its grid; without one, in layers by distance from the start; many in a list.

const MOST_IN_GRAPH = 60;

export function placesOf(world) {
  const { layout, states } = world;
  if (layout) {
    const { columns, floors } = layout;
    const rows = layout.rows / (floors?.length ?? 1);
    const at = (cell) => {
      const [x, y, letter] = [cell % columns, Math.floor(cell / columns), layout.ground?.[cell] ?? "."];
      return { x, y: y % rows, floor: Math.floor(y / rows), wind: layout.wind?.[x] ?? 0, letter: "S.OG".includes(letter) && !floors ? "" : letter.replace(".", "") };
    };
    const taken = new Set([...layout.cells, ...layout.goals]);
    const walls = [];
    for (let cell = 0; cell < rows * columns && !floors; cell += 1) if (!taken.has(cell)) walls.push(at(cell));
    return { kind: "grid", columns, rows, floors, states: layout.cells.map(at), goals: layout.goals.map(at), walls };
  }
  if (states > MOST_IN_GRAPH || !world.truth) return { kind: "list" };
  return graphPlaces(world);
}

// Breadth first from the start; the goal comes last. Few layers would be tall columns, so those go around a circle.
function graphPlaces(world) {
  const { states, actions, start, truth } = world;
  const depth = new Array(states + 1).fill(-1);
  depth[start] = 0;
  const queue = [start];
  for (const state of queue) {
    for (let i = truth.indptr[state * actions]; i < truth.indptr[(state + 1) * actions]; i += 1) {
      const successor = truth.successors[i];
      if (depth[successor] < 0) {
        depth[successor] = depth[state] + 1;
        if (successor !== states) queue.push(successor);
      }
    }
  }
  const deepest = Math.max(...depth.slice(0, states));
  const layers = Array.from({ length: deepest + 1 }, () => []);
  const lost = [];
  for (let state = 0; state < states; state += 1) (depth[state] < 0 ? lost : layers[depth[state]]).push(state);
  if (lost.length) layers.push(lost);
  const tallest = Math.max(...layers.map((layer) => layer.length));
  if (layers.length <= 2 && tallest > 4) return circlePlaces(world);
  const spots = new Array(states);
  // A long chain is broken into lines of a few states, so that each state is large enough to read.
  const wrap = layers.length > 5 && tallest <= 2 ? Math.ceil((layers.length + 1) / Math.ceil((layers.length + 1) / 6)) : layers.length + 1;
  layers.forEach((layer, column) => layer.forEach((state, place) => {
    const turn = Math.floor(column / wrap);
    spots[state] = { x: 1.6 * (column % wrap), y: 1.5 * (place - (layer.length - 1) / 2) + turn * 1.6 * tallest };
  }));
  const last = layers.length;
  const goal = { x: 1.6 * (last % wrap), y: Math.floor(last / wrap) * 1.6 * tallest };
  return settled(spots, goal);
}

function circlePlaces({ states, start }) {
  const order = [start, ...Array.from({ length: states }, (_, state) => state).filter((state) => state !== start)];
  const radius = Math.max(1.6, states * 0.26);
  const spots = new Array(states);
  order.forEach((state, place) => {
    const angle = Math.PI + (2 * Math.PI * place) / states;
    spots[state] = { x: radius * Math.cos(angle) * 1.25, y: radius * Math.sin(angle) };
  });
  return settled(spots, { x: radius * 1.25 + 1.9, y: 0 });
}

function settled(spots, goal) {
  const all = [...spots, goal];
  const left = Math.min(...all.map((spot) => spot.x));
  const top = Math.min(...all.map((spot) => spot.y));
  const shift = ({ x, y }) => ({ x: x - left + 0.1, y: y - top + 0.1 });
  const states = spots.map(shift);
  const goals = [shift(goal)];
  const far = [...states, ...goals];
  return {
    kind: "graph", walls: [], states, goals,
    columns: Math.max(...far.map((spot) => spot.x)) + 1.1, rows: Math.max(...far.map((spot) => spot.y)) + 1.3,
  };
}
