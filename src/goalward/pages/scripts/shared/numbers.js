// Numbers as text, written as in the tables of the command line.

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function whole(value) {
  return grouped.format(value);
}

export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 10 ** (digits - 1) && size < 1e9) return grouped.format(Math.round(value)).replace("-", "−");
  if (size >= 1e9 || size < 1e-4) return value.toExponential(digits - 1).replace("-", "−").replace("e+", "e");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

// A number short enough for a cell. `largest`, the largest number of the scale, decides the number of decimals.
export function cellNumber(value, largest) {
  if (!Number.isFinite(value)) return number(value);
  const size = Math.abs(value);
  if (size >= 1e5) return value.toExponential(0).replace("-", "−").replace("e+", "e");
  const decimals = 2 - Math.floor(Math.log10(largest / 2)) - (size >= 100 ? 2 : size >= 10 ? 1 : 0);
  const text = value.toFixed(Math.min(Math.max(decimals, 0), 8));
  return Number(text) === 0 ? "0" : text.replace("-", "−");
}

export function shortCount(count) {
  if (count < 10000) return String(count);
  if (count < 1e6) return `${Math.round(count / 1e3)}k`;
  return `${(count / 1e6).toFixed(1)}M`;
}

// The largest finite number, at least `least`. Math.max(...values) fails with more values than a call may have arguments.
export function largest(values, least) {
  let found = least;
  for (const value of values ?? []) if (value > found && Number.isFinite(value)) found = value;
  return found;
}

// Three to seven round numbers between two ends.
export function roundTicks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * unit).find((each) => each >= rough) ?? 10 * unit;
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + 1e-9 * step; tick += 1) ticks.push(tick * step);
  return ticks.map((tick) => (Math.abs(tick) < step * 1e-9 ? 0 : tick));
}

export function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); 10 ** power <= high * (1 + 1e-9); power += 1) ticks.push(10 ** power);
  if (ticks.length >= 2) {
    const every = Math.ceil(ticks.length / 7);
    return ticks.filter((_, place) => place % every === 0);
  }
  const finer = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const digit of [1, 2, 5]) {
      if (digit * 10 ** power >= low && digit * 10 ** power <= high) finer.push(digit * 10 ** power);
    }
  }
  return finer.length ? finer : [low];
}

// A quantile of some numbers, estimated from about 20,000 of them if there are more.
export function quantile(values, share) {
  const every = Math.max(1, Math.floor(values.length / 20000));
  const kept = [];
  for (let i = 0; i < values.length; i += every) if (Number.isFinite(values[i])) kept.push(values[i]);
  kept.sort((one, other) => one - other);
  return kept.length ? kept[Math.min(Math.floor(share * kept.length), kept.length - 1)] : 0;
}
