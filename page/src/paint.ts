/** Draws a scene at a time, on the screen or into a file. */
import { bytes } from "./format";
import { boxInk, drawGlyph } from "./glyphs";
import { shorten, textWidth } from "./measure";
import type { Pen } from "./pen";
import type { GraphNode } from "./recording";
import { groupSummary, type Edge, type Item, type Scene } from "./scene";
import { countStates, LOOKS, State, stateAt } from "./state";
import type { Colours } from "./theme";

export interface Failed {
  node: number;
  words: string;
  /** Keys of the edges on which the failing backward came. */
  edges: Set<string>;
}

export interface Look {
  time: number;
  colours: Colours;
  scale: number;
  clip: [left: number, top: number, right: number, bottom: number];
  selected: string | null;
  hover: string | null;
  /** Nodes that are shown; the others step back. */
  shown: ((node: GraphNode) => boolean) | null;
  /** Flags on nodes: "+" on what the other pane does not have, or the numbers of a report's places. */
  marked: Map<number, string> | null;
  /** More nodes that belong to what is selected. */
  beside: Set<number> | null;
  failed: Failed | null;
}

/** Below these scales: no words in nodes, no headings, only blocks. */
const WORDS = 0.42;
const HEADINGS = 0.3;
const BLOCKS = 0.16;

const BAR: State[] = [
  State.Created,
  State.Retained,
  State.Detached,
  State.Unknown,
  State.Freed,
  State.Passed,
  State.Gone,
];

class Painter {
  private words: boolean;
  private headings: boolean;
  private far: boolean;
  private tiny: boolean;

  constructor(
    private pen: Pen,
    private scene: Scene,
    private look: Look,
  ) {
    const { scale } = look;
    [this.words, this.headings] = [scale > WORDS, scale > HEADINGS];
    [this.far, this.tiny] = [scale < WORDS, scale < BLOCKS];
  }

  paint() {
    this.openGroups();
    this.edges();
    if (this.far) this.nodeBlocks();
    for (const item of this.scene.items) if (this.visible(item)) this.item(item);
    this.failure();
  }

  private inClip(left: number, top: number, right: number, bottom: number): boolean {
    const clip = this.look.clip;
    return left < clip[2] && top < clip[3] && right > clip[0] && bottom > clip[1];
  }

  private visible(item: Item): boolean {
    return this.inClip(item.x, item.y, item.x + item.width, item.y + item.height);
  }

  private stateOf(item: Item): State {
    return stateAt(this.scene.graph.node(item.node), this.look.time);
  }

  private dimmed(item: Item): boolean {
    const { shown } = this.look;
    if (!shown || item.leaf) return false;
    return !item.ids.some((id) => shown(this.scene.graph.node(id)));
  }

  private openGroups() {
    const { colours, scale } = this.look;
    for (const item of this.scene.items) {
      if (!item.open || !this.visible(item)) continue;
      const width = 1 / Math.min(1, Math.max(scale, 0.2));
      this.pen.rect(
        item.x,
        item.y,
        item.width,
        item.height,
        9,
        item.depth % 2 ? colours.group2 : colours.group,
        { stroke: colours.line, width },
      );
    }
  }

  private edges() {
    const { selected, failed } = this.look;
    const plain: Edge[] = [];
    const strong: Edge[] = [];
    for (const edge of this.scene.edges) {
      if (
        edge.points.length < 4 ||
        !this.inClip(edge.bounds[0] - 1, edge.bounds[1] - 1, edge.bounds[2] + 1, edge.bounds[3] + 1)
      )
        continue;
      const near = selected !== null && (edge.from.id === selected || edge.to.id === selected);
      (near || failed?.edges.has(edge.key) ? strong : plain).push(edge);
    }
    if (this.far) this.farEdges(plain);
    else for (const edge of plain) this.edge(edge);
    for (const edge of strong) this.strongEdge(edge);
  }

  private bornOf(item: Item): number {
    return item.node >= 0
      ? this.scene.graph.node(item.node).born
      : this.scene.graph.groupBorn[item.group];
  }

  private farEdges(edges: Edge[]) {
    const { colours, scale, time } = this.look;
    const [now, later]: [number[][], number[][]] = [[], []];
    for (const edge of edges) {
      const [left, top, right, bottom] = edge.bounds;
      if ((this.tiny && edge.from.leaf) || (right - left + bottom - top) * scale < 2) continue;
      (this.bornOf(edge.to) > time ? later : now).push(edge.points);
    }
    const width = this.tiny ? 0.6 / scale : Math.max(1.15, 0.55 / scale);
    this.pen.paths(later, { stroke: colours.line, width });
    this.pen.paths(now, { stroke: this.tiny ? colours.line : colours.edge, width });
  }

  private edge(edge: Edge) {
    const { colours, time } = this.look;
    const unborn = this.bornOf(edge.to) > time;
    const stroke = unborn ? colours.line : edge.cut ? colours.detached : colours.edge;
    const dash = edge.cut ? [5, 5] : edge.from.leaf ? [2, 3] : undefined;
    this.pen.path(edge.points, { stroke, width: 1.25, dash });
    if (edge.cut) this.cutMark(edge, stroke);
    else this.arrow(edge.points, stroke, 1);
  }

  /** Two bars across the end: here no gradient goes through. */
  private cutMark(edge: Edge, stroke: string) {
    const end = edge.points.length;
    const [x, y] = [edge.points[end - 2], edge.points[end - 1] - 9];
    const back =
      this.look.colours[edge.to.depth === 0 ? "bg" : edge.to.depth % 2 ? "group" : "group2"];
    this.pen.rect(x - 7, y - 5, 14, 10, 0, back);
    for (const dy of [-2, 2]) this.pen.path([x - 5, y + dy, x + 5, y + dy], { stroke, width: 1.6 });
  }

  private strongEdge(edge: Edge) {
    const { colours, scale, failed } = this.look;
    const stroke = failed?.edges.has(edge.key) ? colours.error : colours.accent;
    this.pen.path(edge.points, {
      stroke,
      width: Math.max(2, 1.2 / scale),
      dash: edge.cut ? [5, 5] : undefined,
    });
    this.arrow(edge.points, stroke, Math.max(1, 0.6 / scale));
  }

  private arrow(points: number[], fill: string, size: number) {
    const end = points.length;
    const [x, y] = [points[end - 2], points[end - 1]];
    const angle = Math.atan2(y - points[end - 3], x - points[end - 4]);
    const [length, spread] = [6 * size, 0.42];
    const wing = (turn: number) => [
      x - length * Math.cos(angle + turn),
      y - length * Math.sin(angle + turn),
    ];
    this.pen.polygon([x, y, ...wing(-spread), ...wing(spread)], fill);
  }

  /** Nodes as blocks, one path for each state: thousands of them at once. */
  private nodeBlocks() {
    const { colours, scale, failed } = this.look;
    const blocks = LOOKS.map((): number[] => []);
    for (const item of this.scene.items) {
      if (
        item.node < 0 ||
        (this.tiny && item.leaf) ||
        item.node === failed?.node ||
        !this.visible(item)
      )
        continue;
      blocks[this.dimmed(item) ? State.Unborn : this.stateOf(item)].push(
        item.x,
        item.y,
        item.width,
        item.height,
      );
    }
    blocks.forEach((flat, index) => {
      const state = index as State;
      if (!flat.length) return;
      const solid = state === State.Created || state === State.Retained || state === State.Detached;
      const { fill, border } = boxInk(state, colours);
      this.pen.rects(flat, solid ? border : fill, {
        stroke: solid && this.tiny ? null : border,
        width: Math.max(1, 0.5 / scale),
      });
    });
  }

  private item(item: Item) {
    const { selected, hover, failed, scale } = this.look;
    const chosen = item.id === selected || item.id === hover;
    if (item.node < 0) {
      if (this.tiny && item.open && item.width * scale < 46 && !chosen) return;
      if (item.open) this.heading(item);
      else this.foldedGroup(item);
    } else if (!this.far || chosen || item.node === failed?.node) {
      if (item.leaf) this.leaf(item);
      else this.node(item);
    }
    if (chosen) this.ring(item, item.id === selected ? 2.2 : 1.5, item.id === selected);
    else if (item.node >= 0 && this.look.beside?.has(item.node)) this.ring(item, 1.2, true);
    if (this.look.marked && !item.open) this.flag(item);
  }

  private leaf(item: Item) {
    const { colours } = this.look;
    const node = this.scene.graph.node(item.node);
    const unborn = this.stateOf(item) === State.Unborn;
    const middle = item.y + item.height / 2 + 0.5;
    this.pen.rect(item.x, item.y, item.width, item.height, 12, unborn ? null : colours["leaf-bg"], {
      stroke: unborn ? colours.line : colours.edge,
    });
    if (!this.words) return;
    this.pen.text(node.op, item.x + 11, middle, {
      size: 12,
      fill: unborn ? colours.gone : colours.leaf,
      weight: 600,
    });
    this.pen.text(node.shape, item.x + item.width - 11, middle, {
      size: 11,
      fill: unborn ? colours.gone : colours.faint,
      align: "right",
    });
  }

  private node(item: Item) {
    const { colours, failed } = this.look;
    const node = this.scene.graph.node(item.node);
    const state = this.stateOf(item);
    const bad = node.id === failed?.node;
    const faint = state === State.Unborn || state === State.Gone || this.dimmed(item);
    const { fill, border, width, dash } = boxInk(
      faint && state !== State.Gone ? State.Unborn : state,
      colours,
    );
    const stroke = bad
      ? { stroke: colours.error, width: 2.2, dash }
      : { stroke: border, width, dash };
    this.pen.rect(
      item.x,
      item.y,
      item.width,
      item.height,
      6,
      bad ? colours["error-bg"] : fill,
      stroke,
    );
    if (this.words)
      this.nodeWords(item, node, state, bad ? colours.error : faint ? colours.gone : null);
  }

  private nodeWords(item: Item, node: GraphNode, state: State, override: string | null) {
    const { colours } = this.look;
    const faint = override === colours.gone ? colours.gone : null;
    const over = state === State.Freed || state === State.Passed;
    const middle = item.y + item.height / 2;
    drawGlyph(this.pen, state, item.x + 15, middle - 8.5, override ?? colours[LOOKS[state].colour]);
    this.pen.text(node.op, item.x + 27, middle - 8, {
      size: 12,
      fill: faint ?? (over ? colours.soft : colours.ink),
      weight: 600,
    });
    const suffix = node.name.startsWith(node.op) ? node.name.slice(node.op.length) : "";
    this.pen.text(suffix, item.x + 27 + textWidth(node.op, 12, 600), middle - 8, {
      size: 12,
      fill: faint ?? colours.faint,
    });
    this.pen.text(node.shape, item.x + 27, middle + 9, { size: 11, fill: faint ?? colours.soft });
    const freed = state === State.Freed;
    if (!node.bytes) return;
    const fill = faint ?? (freed ? colours.faint : colours.ink);
    this.pen.text(bytes(node.bytes), item.x + item.width - 9, middle + 9, {
      size: 11,
      fill,
      weight: 600,
      align: "right",
      strike: freed,
    });
  }

  private heading(item: Item) {
    const { colours, scale, time } = this.look;
    const { name, type } = this.scene.graph.recording.groups[item.group];
    const faint = this.bornOf(item) > time;
    if (this.headings) {
      const middle = item.y + 16;
      const after = textWidth(name, 12.5, 650);
      this.pen.text("▾", item.x + 10, middle, { size: 11, fill: colours.soft });
      this.pen.text(name, item.x + 24, middle, {
        size: 12.5,
        fill: faint ? colours.gone : colours.ink,
        weight: 650,
      });
      if (type) this.pen.text(type, item.x + 32 + after, middle, { size: 11, fill: colours.faint });
      const summary = groupSummary(item.ids.length, this.scene.bytesOf(item.group));
      const room = item.width - after - textWidth(type, 11) - 60;
      if (room > textWidth(summary, 11))
        this.pen.text(summary, item.x + item.width - 12, middle, {
          size: 11,
          fill: colours.faint,
          align: "right",
        });
    } else if (
      item.width * scale > 64 &&
      (item.depth === 0 || (type === "" && item.height * scale > 60))
    ) {
      const size = 11 / scale;
      this.pen.rect(
        item.x,
        item.y,
        textWidth(name, 11, 650) / scale + size * 0.9,
        size * 1.5,
        size * 0.3,
        colours.bg,
        { stroke: colours.line, width: 0.8 / scale },
      );
      this.pen.text(name, item.x + size * 0.45, item.y + size * 0.78, {
        size,
        fill: faint ? colours.faint : colours.soft,
        weight: 650,
      });
    }
  }

  private foldedGroup(item: Item) {
    const { colours, time, failed } = this.look;
    const { graph } = this.scene;
    const counts = countStates(
      item.ids.map((id) => graph.node(id)),
      time,
    );
    const unborn = counts[State.Unborn] === item.ids.length;
    const faint = unborn || counts[State.Gone] === item.ids.length || this.dimmed(item);
    const bad = failed !== null && failed.node >= 0 && this.scene.boxOf(failed.node) === item.id;
    this.pen.rect(item.x + 3, item.y + 3, item.width, item.height, 7, colours.bg, {
      stroke: colours.line,
    });
    const stroke = bad ? colours.error : faint ? colours.line : colours.edge;
    this.pen.rect(item.x, item.y, item.width, item.height, 7, faint ? colours.bg : colours.panel, {
      stroke,
      width: bad ? 2 : 1.1,
      dash: unborn ? [2, 3] : undefined,
    });
    if (this.headings) this.groupWords(item, faint);
    this.bar(item, counts);
  }

  private groupWords(item: Item, faint: boolean) {
    const { colours } = this.look;
    const { name, type } = this.scene.graph.recording.groups[item.group];
    this.pen.text("▸", item.x + 9, item.y + 17, { size: 11, fill: colours.soft });
    this.pen.text(shorten(name, item.width - 34, 12.5, 650), item.x + 22, item.y + 17, {
      size: 12.5,
      fill: faint ? colours.gone : colours.ink,
      weight: 650,
    });
    if (type)
      this.pen.text(type, item.x + item.width - 10, item.y + 17, {
        size: 11,
        fill: faint ? colours.gone : colours.faint,
        align: "right",
      });
    if (!this.words) return;
    const summary = groupSummary(item.ids.length, this.scene.bytesOf(item.group));
    this.pen.text(summary, item.x + 22, item.y + 33, {
      size: 11,
      fill: faint ? colours.gone : colours.soft,
    });
  }

  /** The states of what is inside, as parts of a bar. */
  private bar(item: Item, counts: number[]) {
    const { colours } = this.look;
    const [full, y] = [item.width - 18, item.y + item.height - 11];
    let x = item.x + 9;
    this.pen.rect(x, y, full, 5, 0, colours.group2);
    for (const state of BAR) {
      const width = (counts[state] / item.ids.length) * full;
      if (!width) continue;
      const solid = state === State.Created || state === State.Retained || state === State.Detached;
      if (solid) this.pen.rect(x, y, width, 5, 0, colours[LOOKS[state].colour]);
      else if (state !== State.Gone) {
        const { border, dash } = boxInk(state, colours);
        this.pen.rect(x + 0.5, y + 0.5, Math.max(0.5, width - 1), 4, 0, colours.bg, {
          stroke: border,
          dash: dash && [3, 2],
        });
      }
      x += width;
    }
  }

  private flag(item: Item) {
    const { marked, colours, scale } = this.look;
    const found = item.leaf ? [] : item.ids.flatMap((id) => marked!.get(id) ?? []);
    if (!found.length) return;
    const distinct = [...new Set(found.flatMap((text) => text.split(" ")))].sort().join(" ");
    const text = item.node < 0 && distinct === "+" ? `+${found.length}` : distinct;
    // beside the words that stand on the node at which a call failed
    const failed = item.node >= 0 && item.node === this.look.failed?.node;
    const middle = failed ? item.y + item.height / 2 : item.y;
    const size = Math.min(30, Math.max(11, 8 / scale));
    const width = textWidth(text, size, 700) + size * 0.8;
    const right = item.x + item.width + (failed ? width - 5 : 4);
    this.pen.rect(
      right - width,
      middle - size * 0.7,
      width,
      size * 1.4,
      size * 0.7,
      colours.accent,
    );
    this.pen.text(text, right - width / 2, middle + size * 0.05, {
      size,
      fill: colours.bg,
      weight: 700,
      align: "center",
    });
  }

  private ring(item: Item, least: number, selected: boolean) {
    const { colours, scale } = this.look;
    const width = Math.max(least, (0.65 * least) / scale);
    this.pen.rect(
      item.x - 3,
      item.y - 3,
      item.width + 6,
      item.height + 6,
      item.leaf ? 15 : 9,
      null,
      { stroke: selected ? colours.accent : colours.edge, width },
    );
  }

  private failure() {
    const { failed, colours, scale } = this.look;
    const item = failed && this.scene.byId.get(`n${failed.node}`);
    if (!failed || !item || !failed.words) return;
    const size = scale > 0.5 ? 11 : Math.min(11 / scale, 26);
    const [width, y] = [textWidth(failed.words, size, 650) + size * 1.3, item.y - size * 0.95];
    this.pen.rect(item.x + 10, y, width, size * 1.75, size * 0.45, colours.error);
    this.pen.text(failed.words, item.x + 10 + size * 0.65, y + size * 0.9, {
      size,
      fill: colours.bg,
      weight: 650,
    });
  }
}

export function paint(pen: Pen, scene: Scene, look: Look) {
  new Painter(pen, scene, look).paint();
}
