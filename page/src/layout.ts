/** Recursive layered layout. Every open group is laid out on its own by dagre and is then one box for
 * the level above. Groups of the same make (passes of a loop, blocks of a model) share one result. */
import dagre from "@dagrejs/dagre";
import { inColumns } from "./columns";
import { flow } from "./flow";
import { tenth } from "./format";

export interface Box {
  id: string;
  width: number;
  height: number;
  children?: Box[];
  /** Its children follow each other in time: they run left to right and wrap like text. */
  series?: boolean;
}

export interface LayoutInput {
  root: Box;
  edges: [from: string, to: string][];
  /** Width to height of the room, and its width. */
  aspect: number;
  room: number;
}

export interface LayoutOutput {
  boxes: Record<string, [x: number, y: number, width: number, height: number]>;
  paths: number[][];
  /** How often dagre ran, and how long all took. */
  runs: number;
  milliseconds: number;
}

export type Point = [x: number, y: number];
/** One piece of an edge, inside one group: between two children, or a child and a port. */
export type Piece = [from: string, to: string];
export interface Placed {
  at: Point[];
  width: number;
  height: number;
  lines: Point[][];
}

export const PADDING = 14;
export const HEADING = 30;

const port = (direction: "in" | "out", source: string) => `${direction}:${source}`;
const isPort = (id: string) => id.startsWith("in:") || id.startsWith("out:");

interface Route {
  up: [group: string, piece: string][];
  across: [group: string, piece: string];
  down: [group: string, piece: string][];
}

/** The tree of boxes, and the pieces of edges inside each group. */
class Tree {
  readonly box = new Map<string, Box>();
  readonly parent = new Map<string, Box>();
  readonly pieces = new Map<string, Map<string, Piece>>();
  private depth = new Map<string, number>();

  constructor(root: Box) {
    this.enter(root, 0);
  }

  private enter(box: Box, depth: number) {
    this.box.set(box.id, box);
    this.depth.set(box.id, depth);
    for (const child of box.children ?? []) {
      this.parent.set(child.id, box);
      this.enter(child, depth + 1);
    }
  }

  private piece(group: string, from: string, to: string): string {
    let pieces = this.pieces.get(group);
    if (!pieces) this.pieces.set(group, (pieces = new Map()));
    const key = `${from}>${to}`;
    if (!pieces.has(key)) pieces.set(key, [from, to]);
    return key;
  }

  /** An edge leaves groups through ports at their bottom and enters others through ports at their top. */
  route(source: string, target: string): Route {
    const up: Route["up"] = [];
    const down: Route["down"] = [];
    let [from, to] = [source, target];
    while (this.parent.get(from) !== this.parent.get(to)) {
      if (this.depth.get(from)! >= this.depth.get(to)!) {
        const group = this.parent.get(from)!.id;
        up.push([group, this.piece(group, from, port("out", source))]);
        from = group;
      } else {
        const group = this.parent.get(to)!.id;
        down.unshift([group, this.piece(group, port("in", source), to)]);
        to = group;
      }
    }
    const group = this.parent.get(from)!.id;
    return { up, across: [group, this.piece(group, from, to)], down };
  }
}

/** Numbers for the children and ports of a group: equal groups get equal numbers. */
function numbered(children: Box[], pieces: Piece[]): Map<string, number> {
  const index = new Map(children.map((child, i) => [child.id, i]));
  for (const ends of pieces)
    for (const end of ends) if (!index.has(end)) index.set(end, index.size);
  return index;
}

function likeness(children: Box[], pieces: Piece[], index: Map<string, number>): string {
  const sizes = children.map((child) => `${child.width},${child.height}`).join(" ");
  const mark = (end: string) => `${index.get(end)}${isPort(end) ? end[0] : ""}`;
  return `${sizes}|${pieces.map(([from, to]) => `${mark(from)}>${mark(to)}`).join(" ")}`;
}

interface DagrePoint {
  x: number;
  y: number;
}

/** dagre on one level. Ports stay at the border: a heavy edge ties them to a common end. */
function runDagre(children: Box[], pieces: Piece[], index: Map<string, number>) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 16, ranksep: 20, edgesep: 10 });
  graph.setDefaultEdgeLabel(() => ({}));
  children.forEach((child, i) =>
    graph.setNode(`${i}`, { width: child.width, height: child.height }),
  );
  for (const [from, to] of pieces) {
    for (const end of [from, to]) {
      const name = `${index.get(end)}`;
      if (!isPort(end) || graph.hasNode(name)) continue;
      graph.setNode(name, { width: 4, height: 1 });
      const border = end.startsWith("in:") ? "top" : "bottom";
      if (!graph.hasNode(border)) graph.setNode(border, { width: 1, height: 1 });
      if (border === "top") graph.setEdge(border, name, { weight: 20 });
      else graph.setEdge(name, border, { weight: 20 });
    }
    graph.setEdge(`${index.get(from)}`, `${index.get(to)}`, {
      weight: isPort(from) || isPort(to) ? 1 : 2,
    });
  }
  dagre.layout(graph);
  return {
    centre: (end: string) => graph.node(`${index.get(end)}`) as unknown as DagrePoint,
    line: ([from, to]: Piece): Point[] => {
      const edge = graph.edge(`${index.get(from)}`, `${index.get(to)}`) as unknown as {
        points: DagrePoint[];
      };
      return edge.points.map((point) => [point.x, point.y]);
    },
  };
}

/** One group, laid out by dagre, with its padding and the room for its heading. */
function layered(
  children: Box[],
  pieces: Piece[],
  index: Map<string, number>,
  bare: boolean,
): Placed {
  const result = runDagre(children, pieces, index);
  const lines = pieces.map(result.line);
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const child of children) {
    const { x, y } = result.centre(child.id);
    [left, right] = [Math.min(left, x - child.width / 2), Math.max(right, x + child.width / 2)];
    [top, bottom] = [Math.min(top, y - child.height / 2), Math.max(bottom, y + child.height / 2)];
  }
  for (const [x] of lines.flat()) [left, right] = [Math.min(left, x), Math.max(right, x)];
  const [head, padding, foot] = bare ? [0, 0, 0] : [HEADING + 10, PADDING, PADDING + 2];
  const [dx, dy] = [padding - left, head - top];
  const height = head + bottom - top + foot;
  const boxes = new Map(children.map((child) => [child.id, child]));
  lines.forEach((line, i) => {
    const [from, to] = pieces[i];
    for (const point of line) [point[0], point[1]] = [point[0] + dx, Math.max(0, point[1] + dy)];
    const end = (id: string, side: 1 | -1, border: number, at: Point): Point => {
      const box = boxes.get(id);
      if (!box) return [at[0], border];
      const { x, y } = result.centre(id);
      return [x + dx, y + dy + (side * box.height) / 2];
    };
    line[0] = end(from, 1, 0, line[0]);
    line[line.length - 1] = end(to, -1, height, line[line.length - 1]);
  });
  const at = children.map((child): Point => {
    const { x, y } = result.centre(child.id);
    return [x - child.width / 2 + dx, y - child.height / 2 + dy];
  });
  const placed = { at, width: right - left + 2 * padding, height, lines };
  return inColumns(placed, children, pieces, { head, foot, padding });
}

class Layout {
  runs = 0;
  private memo = new Map<string, Placed>();
  private inside = new Map<string, Point>();
  private lines = new Map<string, Map<string, Point[]>>();
  private corner = new Map<string, Point>();

  constructor(
    private input: LayoutInput,
    private tree: Tree,
  ) {}

  /** Lays out a group after those inside it; its box takes the size of what it holds. */
  place(group: Box) {
    const children = group.children!;
    for (const child of children) if (child.children) this.place(child);
    const pieces = this.tree.pieces.get(group.id) ?? new Map<string, Piece>();
    const placed = this.arrange(group, children, [...pieces.values()]);
    children.forEach((child, i) => this.inside.set(child.id, placed.at[i]));
    group.width = Math.max(group.width, placed.width);
    group.height = placed.height;
    this.lines.set(group.id, new Map([...pieces.keys()].map((key, i) => [key, placed.lines[i]])));
  }

  private arrange(group: Box, children: Box[], pieces: Piece[]): Placed {
    const bare = group === this.input.root;
    if (!children.length) return { at: [], width: 1, height: 1, lines: [] };
    if (group.series && children.length > 1) {
      const aspect = bare ? this.input.aspect : Math.max(this.input.aspect * 1.4, 2.2);
      return flow(children, pieces, { aspect, room: this.input.room, bare, least: group.width });
    }
    const index = numbered(children, pieces);
    const key = likeness(children, pieces, index);
    let placed = this.memo.get(key);
    if (!placed) {
      this.runs++;
      this.memo.set(key, (placed = layered(children, pieces, index, bare)));
    }
    return placed;
  }

  settle(box: Box, x: number, y: number, boxes: LayoutOutput["boxes"]) {
    this.corner.set(box.id, [x, y]);
    boxes[box.id] = [x, y, box.width, box.height];
    for (const child of box.children ?? []) {
      const [dx, dy] = this.inside.get(child.id)!;
      this.settle(child, x + dx, y + dy, boxes);
    }
  }

  private points(group: string, piece: string): Point[] {
    const [x, y] = this.corner.get(group)!;
    return (this.lines.get(group)?.get(piece) ?? []).map(([px, py]): Point => [px + x, py + y]);
  }

  /** The pieces of an edge, joined at the ports where it goes through borders. */
  path(route: Route): number[] {
    const chain = [...route.up, route.across, ...route.down];
    const out: Point[] = [];
    chain.forEach(([group, piece], i) => {
      const line = this.points(group, piece);
      const fromInside = i > 0 && this.tree.parent.get(chain[i - 1][0])?.id === group;
      const toInside = i + 1 < chain.length && this.tree.parent.get(chain[i + 1][0])?.id === group;
      const box = this.tree.box.get(group)!;
      if (box.series && box.children!.length > 1 && line.length > 1) {
        if (fromInside) leaveBelow(line, out[out.length - 1]);
        if (toInside)
          enterAbove(line, this.points(...chain[i + 1])[0], this.corner.get(chain[i + 1][0])![1]);
      } else {
        // the level above aims at the middle of a group's border; the port is where it really goes
        if (fromInside) line.shift();
        if (toInside) line.pop();
      }
      out.push(...line);
    });
    return flat(out);
  }
}

/** A series joins its boxes at their sides; an open one is left at its bottom port ... */
function leaveBelow(line: Point[], from: Point) {
  const y = from[1] + 9;
  line.splice(0, 2, [from[0], y], [line[1][0], y]);
}

/** ... and entered at its top port. */
function enterAbove(line: Point[], to: Point | undefined, top: number) {
  if (!to) return;
  line.splice(line.length - 2, 2, [line[line.length - 2][0], top - 9], [to[0], top - 9]);
}

/** Coordinates in a row, without points that repeat. */
function flat(points: Point[]): number[] {
  const out: number[] = [];
  points.forEach(([x, y], i) => {
    const before = points[i - 1];
    if (before && Math.abs(x - before[0]) < 0.5 && Math.abs(y - before[1]) < 0.5) return;
    out.push(tenth(x), tenth(y));
  });
  return out;
}

export function layout(input: LayoutInput): LayoutOutput {
  const start = Date.now();
  const tree = new Tree(input.root);
  const routes = input.edges.map(([from, to]) => tree.route(from, to));
  const work = new Layout(input, tree);
  work.place(input.root);
  const boxes: LayoutOutput["boxes"] = {};
  work.settle(input.root, 0, 0, boxes);
  const paths = routes.map((route) => work.path(route));
  return { boxes, paths, runs: work.runs, milliseconds: Date.now() - start };
}
