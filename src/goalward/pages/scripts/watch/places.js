// The positions of states on the page: on the grid of the world; without a grid, in layers by distance from the start. More than 60 states are listed.

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

// Layers by breadth-first search from the start; the goal comes last. One or two layers would be tall columns, so their states form a circle.
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
  if (layers.length <= 2 && Math.max(...layers.map((layer) => layer.length)) > 4) return circlePlaces(world);
  layers.push([states]);
  // If many layers in one line would make the states small, they are broken into lines. A state of 60 pixels is large enough.
  const size = ({ columns, rows }) => Math.min((innerWidth > 640 ? 800 : 330) / columns, 470 / rows, 60);
  return [1, 2, 3].map((lines) => layerPlaces(layers, Math.ceil(layers.length / lines))).reduce((best, other) => (size(other) > 1.2 * size(best) ? other : best));
}

function layerPlaces(layers, wrap) {
  const spots = [];
  for (let [first, top] = [0, 0]; first < layers.length; first += wrap) {
    const line = layers.slice(first, first + wrap);
    const tallest = Math.max(...line.map((layer) => layer.length));
    line.forEach((layer, column) => layer.forEach((state, place) => {
      spots[state] = { x: 1.6 * column, y: top + 1.5 * (place + (tallest - layer.length) / 2) };
    }));
    top += 1.6 * tallest;
  }
  return settled(spots);
}

function circlePlaces({ states, start }) {
  const order = [start, ...Array.from({ length: states }, (_, state) => state).filter((state) => state !== start)];
  const radius = Math.max(1.6, states * 0.26);
  const spots = new Array(states);
  order.forEach((state, place) => {
    const angle = Math.PI + (2 * Math.PI * place) / states;
    spots[state] = { x: radius * Math.cos(angle) * 1.25, y: radius * Math.sin(angle) };
  });
  return settled([...spots, { x: radius * 1.25 + 1.9, y: 0 }]);
}

// Moves the spots to the origin; the last one is the spot of the goal.
function settled(spots) {
  const [left, top] = [Math.min(...spots.map(({ x }) => x)), Math.min(...spots.map(({ y }) => y))];
  const states = spots.map(({ x, y }) => ({ x: x - left + 0.1, y: y - top + 0.1 }));
  const [columns, rows] = [Math.max(...states.map(({ x }) => x)) + 1.1, Math.max(...states.map(({ y }) => y)) + 1.3];
  return { kind: "graph", walls: [], goals: states.splice(-1), states, columns, rows };
}
