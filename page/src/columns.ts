/** A tall level in columns, side by side: a long chain would be a thread that nobody can read. */
import type { Box, Piece, Placed, Point } from "./layout";

const TALL = 1100; // as high a level may be before it is folded into columns
const SLIM = 2; // and so many times as high as wide
const WIDE = 1.5; // what columns shall be together, width to height
const GUTTER = 44; // between columns: edges go up in it
const RAIL = 6; // between edges that go the same way, of which
const LANES = 6; // do not lie on each other
const STUB = 9; // from a box to the way beside its rank

interface Column {
  top: number;
  bottom: number;
  left: number;
  right: number;
  /** By how much all in it is moved. */
  dx: number;
  dy: number;
}

export interface Frame {
  head: number;
  foot: number;
  padding: number;
}

/** Heights between ranks at which a level can be cut. */
function gaps(children: Box[], at: Point[]): number[] {
  const spans = children
    .map((child, i): [number, number] => [at[i][1], at[i][1] + child.height])
    .sort((a, b) => a[0] - b[0]);
  const found: number[] = [];
  let end = spans[0][1];
  for (const [top, bottom] of spans) {
    if (top > end) found.push((top + end) / 2);
    end = Math.max(end, bottom);
  }
  return found;
}

/** Near each of the wanted heights the gap that cuts fewest edges; never one between a leaf and its user. */
function cuts(placed: Placed, children: Box[], pieces: Piece[], count: number): number[] {
  const all = gaps(children, placed.at);
  const [first, step] = [Math.min(...placed.at.map(([, y]) => y)), placed.height / count];
  const cost = (y: number, wanted: number) =>
    pieces.reduce((sum, [from], i) => {
      const line = placed.lines[i];
      const crossed = line[0][1] < y && line[line.length - 1][1] > y;
      return sum + (crossed ? (from.startsWith("l") ? 50 : 1) : 0);
    }, 0) +
    Math.abs(y - wanted) / step;
  const chosen: number[] = [];
  for (let i = 1; i < count; i++) {
    const wanted = first + step * i;
    const near = all.filter(
      (y) => Math.abs(y - wanted) < step * 0.4 && y > (chosen[chosen.length - 1] ?? 0),
    );
    const best = near.sort((a, b) => cost(a, wanted) - cost(b, wanted))[0];
    if (best !== undefined) chosen.push(best);
  }
  return chosen;
}

export function inColumns(
  placed: Placed,
  children: Box[],
  pieces: Piece[],
  { head, foot, padding }: Frame,
): Placed {
  const { width, height } = placed;
  if (height < TALL || height < SLIM * width) return placed;
  const count = Math.max(2, Math.round(Math.sqrt((WIDE * height) / (width + GUTTER))));
  const borders = cuts(placed, children, pieces, count);
  if (!borders.length) return placed;
  const columnOf = (y: number) => borders.filter((border) => border < y).length;
  const childColumn = new Map(children.map((child, i) => [child.id, columnOf(placed.at[i][1])]));
  const columns = measured(placed, children, pieces, childColumn, borders.length + 1);
  // room above for edges that come down into a column, and below for those that leave it
  const crossing = pieces.filter(([from, to]) => childColumn.get(from) !== childColumn.get(to));
  const rails = Math.min(LANES, crossing.length) * RAIL + 12;
  let x = padding;
  for (const column of columns) {
    column.dx = x - column.left;
    column.dy = head + rails - column.top;
    x += column.right - column.left + GUTTER;
  }
  const bottom = Math.max(...columns.map((column) => column.bottom + column.dy));
  const whole = bottom + rails + foot;
  let lane = 0;
  const lines = pieces.map(([from, to], i): Point[] => {
    const line = placed.lines[i];
    const source = childColumn.get(from) ?? 0; // a port at the top belongs to the first column
    const target = childColumn.get(to) ?? columns.length - 1;
    const [a, b] = [columns[source], columns[target]];
    const start: Point = [line[0][0] + a.dx, childColumn.has(from) ? line[0][1] + a.dy : 0];
    const last = line[line.length - 1];
    const end: Point = [last[0] + b.dx, childColumn.has(to) ? last[1] + b.dy : whole];
    if (source === target) {
      const inner = line.slice(1, -1).map(([px, py]): Point => [px + a.dx, py + a.dy]);
      return [start, ...inner, end];
    }
    // out between two ranks, along the side of a column, and in between two ranks
    const offset = (lane++ % LANES) * RAIL + 6;
    const [up, down] = [head + offset, bottom + offset + 4];
    const out = a.right + a.dx + offset;
    const into = b.left + b.dx - GUTTER + offset;
    const leave: Point[] = [start, [start[0], start[1] + STUB], [out, start[1] + STUB]];
    const enter: Point[] = [[into, end[1] - STUB], [end[0], end[1] - STUB], end];
    if (!childColumn.has(from)) return [start, [start[0], up], [into, up], ...enter];
    if (!childColumn.has(to)) return [...leave, [out, down], [end[0], down], end];
    return target === source + 1
      ? [...leave.slice(0, 2), [into, start[1] + STUB], ...enter]
      : [...leave, [out, down], [into, down], ...enter];
  });
  const at = children.map((child, i): Point => {
    const { dx, dy } = columns[childColumn.get(child.id)!];
    return [placed.at[i][0] + dx, placed.at[i][1] + dy];
  });
  return { at, width: x - GUTTER + padding, height: whole, lines };
}

/** What each column holds: boxes, and edges that stay in it. */
function measured(
  placed: Placed,
  children: Box[],
  pieces: Piece[],
  childColumn: Map<string, number>,
  count: number,
): Column[] {
  const columns = Array.from({ length: count }, (): Column => ({
    top: Infinity,
    bottom: -Infinity,
    left: Infinity,
    right: -Infinity,
    dx: 0,
    dy: 0,
  }));
  const widen = (column: Column, x: number) => {
    [column.left, column.right] = [Math.min(column.left, x), Math.max(column.right, x)];
  };
  children.forEach((child, i) => {
    const column = columns[childColumn.get(child.id)!];
    const [x, y] = placed.at[i];
    widen(column, x);
    widen(column, x + child.width);
    column.top = Math.min(column.top, y);
    column.bottom = Math.max(column.bottom, y + child.height);
  });
  pieces.forEach(([from, to], i) => {
    const column = childColumn.get(from) ?? 0;
    if (column === (childColumn.get(to) ?? count - 1))
      for (const [x] of placed.lines[i]) widen(columns[column], x);
  });
  return columns;
}
