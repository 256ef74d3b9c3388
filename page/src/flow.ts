/** Boxes that follow each other in time: they run left to right and wrap like text. */
import { HEADING, PADDING, type Box, type Piece, type Placed, type Point } from "./layout";

const GAP = 28;

export interface FlowRoom {
  aspect: number;
  room: number;
  bare: boolean;
  least: number;
}

interface Cell {
  box: Box;
  x: number;
  y: number;
  row: number;
}

function rows(children: Box[], wide: number, left: number, top: number) {
  const cells: Cell[] = [];
  const bottoms: number[] = [];
  let [x, y, high, right, row] = [0, top, 0, 0, 0];
  for (const box of children) {
    if (x > 0 && x + box.width > wide) {
      bottoms.push(y + high);
      [x, y, high, row] = [0, y + high + GAP * 1.4, 0, row + 1];
    }
    cells.push({ box, x: left + x, y, row });
    x += box.width + GAP;
    high = Math.max(high, box.height);
    right = Math.max(right, x - GAP);
  }
  bottoms.push(y + high);
  return { cells, bottoms, right };
}

/** Edges join boxes at their sides; those that skip a box go through the lane below its row. */
function connect(
  from: Cell | undefined,
  to: Cell | undefined,
  bottoms: number[],
  height: number,
): Point[] {
  const side = (cell: Cell) => cell.y + Math.min(cell.box.height / 2, 22);
  const half = GAP / 2;
  if (!from && to)
    return [
      [to.x - half, 0],
      [to.x - half, side(to)],
      [to.x, side(to)],
    ];
  if (!from || !to) {
    if (!from) return [];
    const right = from.x + from.box.width;
    return [
      [right, side(from)],
      [right + half, side(from)],
      [right + half, height],
    ];
  }
  const right = from.x + from.box.width;
  const start: Point[] = [
    [right, side(from)],
    [right + half, side(from)],
  ];
  const end: Point[] = [
    [to.x - half, side(to)],
    [to.x, side(to)],
  ];
  const next = from.row === to.row && to.x > from.x && to.x - right < GAP * 1.5;
  if (next) return [...start, ...end];
  const lane = bottoms[from.row] + GAP * 0.7;
  return [...start, [right + half, lane], [to.x - half, lane], ...end];
}

export function flow(
  children: Box[],
  pieces: Piece[],
  { aspect, room, bare, least }: FlowRoom,
): Placed {
  const area = children.reduce((sum, box) => sum + (box.width + GAP) * (box.height + GAP), 0);
  const wide = Math.max(Math.sqrt(area * aspect), room, ...children.map((box) => box.width));
  const [left, top] = bare ? [0, 0] : [PADDING + 6, HEADING + 14];
  const { cells, bottoms, right } = rows(children, wide, left, top);
  const height = bottoms[bottoms.length - 1] + (bare ? 0 : PADDING + 10);
  const byId = new Map(cells.map((cell) => [cell.box.id, cell]));
  return {
    at: cells.map(({ x, y }) => [x, y]),
    width: Math.max(least, right + 2 * left),
    height,
    lines: pieces.map(([from, to]) => connect(byId.get(from), byId.get(to), bottoms, height)),
  };
}
