// Colour scales that colour-blind readers can use: viridis for amounts, blue to orange for signed numbers.

const VIRIDIS = [
  [68, 1, 84], [72, 26, 108], [71, 47, 125], [65, 68, 135], [57, 86, 140], [49, 104, 142], [42, 120, 142],
  [35, 136, 142], [31, 152, 139], [34, 168, 132], [53, 183, 121], [84, 197, 104], [122, 209, 81], [165, 219, 54],
  [210, 226, 27], [253, 231, 37],
];
const SIGNS = [
  [5, 65, 130], [33, 102, 172], [67, 147, 195], [146, 197, 222], [209, 229, 240], [247, 247, 247], [254, 224, 182],
  [253, 184, 99], [224, 130, 20], [179, 88, 6], [127, 59, 8],
];

function between(table, share) {
  const place = Math.min(Math.max(share, 0), 1) * (table.length - 1);
  const below = Math.min(Math.floor(place), table.length - 2);
  const rest = place - below;
  return table[below].map((part, index) => Math.round(part + rest * (table[below + 1][index] - part)));
}

// Light for small amounts, dark for large ones; `share` runs from 0 to 1.
export function amountColour(share) {
  return between(VIRIDIS, 1 - share);
}

// Blue for negative numbers, orange for positive ones; `share` runs from -1 to 1.
export function signColour(share) {
  return between(SIGNS, (share + 1) / 2);
}

export function css([red, green, blue]) {
  return `rgb(${red},${green},${blue})`;
}

// The text colour, black or white, with more contrast on a colour (luminance as in WCAG 2).
export function inkOn(colour) {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#111" : "#fff";
}

const SHAPES = {
  o: (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
  s: (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  "^": (r) => `M0,${-1.15 * r}L${1.1 * r},${0.9 * r}H${-1.1 * r}z`,
  v: (r) => `M0,${1.15 * r}L${1.1 * r},${-0.9 * r}H${-1.1 * r}z`,
  D: (r) => `M0,${-1.3 * r}L${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0z`,
  P: (r) => cross(r, 0),
  X: (r) => cross(r, 45),
};

function cross(r, degrees) {
  const w = 0.4 * r;
  const corners = [[-w, -r], [w, -r], [w, -w], [r, -w], [r, w], [w, w], [w, r], [-w, r], [-w, w], [-r, w], [-r, -w], [-w, -w]];
  const angle = (degrees * Math.PI) / 180;
  const turned = corners.map(([x, y]) => [
    (1.15 * (x * Math.cos(angle) - y * Math.sin(angle))).toFixed(2),
    (1.15 * (x * Math.sin(angle) + y * Math.cos(angle))).toFixed(2),
  ]);
  return `M${turned.map((corner) => corner.join(",")).join("L")}z`;
}

export function markerPath(marker, radius) {
  return (SHAPES[marker] ?? SHAPES.o)(radius);
}
