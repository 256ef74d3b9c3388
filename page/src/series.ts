/** A value over time that changes in jumps: saved bytes, live nodes. */

export type Series = [time: number, value: number][];

/** The running sum of changes, one point for each time at which it changes. */
export function accumulate(changes: [time: number, change: number][]): Series {
  changes.sort((a, b) => a[0] - b[0]);
  const out: Series = [[0, 0]];
  let value = 0;
  for (const [time, change] of changes) {
    value += change;
    const last = out[out.length - 1];
    if (last[0] === time) last[1] = value;
    else out.push([time, value]);
  }
  return out;
}

export function valueAt(series: Series, time: number): number {
  let low = 0;
  let high = series.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (series[middle][0] <= time) low = middle;
    else high = middle - 1;
  }
  return series[low][1];
}

export function peakOf(series: Series, from = 0, to = Infinity): number {
  let peak = valueAt(series, from);
  for (const [time, value] of series) if (time >= from && time <= to) peak = Math.max(peak, value);
  return peak;
}
