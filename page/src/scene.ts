/** The boxes that are to be seen: which groups are open, and what follows for nodes and edges.
 * It never depends on time, so that the slider moves nothing. */
import { bytes, count } from "./format";
import type { Graph } from "./graph";
import type { Box, LayoutInput, LayoutOutput } from "./layout";
import { textWidth } from "./measure";
import type { Subject } from "./subject";

export interface Item {
  /** "n4" a node, "g2" a group, "l7@2" the leaf 7 in group 2, "l7@2.9" the leaf 7 beside node 9. */
  id: string;
  node: number;
  group: number;
  open: boolean;
  depth: number;
  leaf: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
  /** The operations inside. */
  ids: number[];
}

export interface Edge {
  key: string;
  from: Item;
  to: Item;
  points: number[];
  bounds: [left: number, top: number, right: number, bottom: number];
  /** It was detached here: no gradient crosses. */
  cut: boolean;
}

interface Draft {
  items: Item[];
  byId: Map<string, Item>;
  edges: [from: string, to: string][];
  cuts: Set<string>;
  /** "leaf>user" -> the box of the leaf that this user's edge comes from. */
  leafOf: Map<string, string>;
}

/** Boxes of leaves in a group: id -> which leaf, and where in the order of creation it stands. */
type Leaves = Map<string, [leaf: number, order: number]>;

const MOST_USERS = 3;
const MOST_OPENED = 80; // the first group is opened beyond the budget, up to so many boxes

const LEAF_HEIGHT = 24;

function boundsOf(points: number[]): Edge["bounds"] {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    [left, right] = [Math.min(left, points[i]), Math.max(right, points[i])];
    [top, bottom] = [Math.min(top, points[i + 1]), Math.max(bottom, points[i + 1])];
  }
  return [left, top, right, bottom];
}

/** In which group a leaf's box is. */
export const groupOfLeaf = (id: string) => parseInt(id.split("@")[1], 10);

export const groupSummary = (nodes: number, size: number) =>
  `${count(nodes, "node")} · ${bytes(size)}`;

export class Scene {
  readonly open = new Set<number>();
  items: Item[] = [];
  byId = new Map<string, Item>();
  edges: Edge[] = [];
  width = 1;
  height = 1;
  runs = 0;
  milliseconds = 0;
  private draft: Draft | null = null;
  /** When one group is the subject, its content is all there is. */
  private readonly inside: number;
  private readonly members: number[][];
  private readonly sizes: number[];

  constructor(
    readonly graph: Graph,
    readonly subject: Subject,
  ) {
    this.inside = subject.key.startsWith("g") ? Number(subject.key.slice(1)) : -1;
    const { nodes } = subject;
    this.members = nodes
      ? graph.members.map((ids) => ids.filter((id) => nodes.has(id)))
      : graph.members;
    this.sizes = nodes ? this.members.map((ids) => graph.bytesOf(ids)) : graph.groupBytes;
  }

  has(id: number): boolean {
    return !this.subject.nodes || this.subject.nodes.has(id);
  }

  membersOf(group: number): number[] {
    return this.members[group];
  }

  bytesOf(group: number): number {
    return this.sizes[group];
  }

  topGroups(): number[] {
    const groups = this.inside < 0 ? this.graph.topGroups : this.graph.children[this.inside];
    return groups.filter((group) => this.members[group].length);
  }

  topNodes(): number[] {
    return (this.inside < 0 ? this.graph.topNodes : this.graph.own[this.inside]).filter((id) =>
      this.has(id),
    );
  }

  childGroups(group: number): number[] {
    return this.graph.children[group].filter((child) => this.members[child].length);
  }

  ownNodes(group: number): number[] {
    return this.graph.own[group].filter((id) => this.has(id));
  }

  /** The groups around a node in this scene, the outermost first. */
  private aroundHere(group: number): number[] {
    const groups = this.graph.around(group);
    const stop = this.inside < 0 ? -1 : groups.indexOf(this.inside);
    return (stop < 0 ? groups : groups.slice(0, stop)).reverse();
  }

  /** The box in which a node is to be seen: its own, or that of a folded group. */
  boxOf(id: number): string {
    for (const group of this.aroundHere(this.graph.node(id).group))
      if (!this.open.has(group)) return `g${group}`;
    return `n${id}`;
  }

  /** Opens what is around a node, or around a group. */
  reveal(group: number) {
    for (const around of this.aroundHere(group)) this.open.add(around);
  }

  /** Opens groups, the outermost first, as long as about `budget` boxes are enough. Groups of one
   * make beside each other are opened together or not at all. */
  unfold(from: number[], budget: number) {
    let used = this.topGroups().length + this.topNodes().length;
    const { groups } = this.graph.recording;
    const queue = [from];
    for (let alike = queue.shift(); alike; alike = queue.shift()) {
      const inside = alike.map((group) => this.childGroups(group));
      const cost = alike.reduce(
        (sum, group, i) => sum + inside[i].length + this.ownNodes(group).length,
        0,
      );
      const small = alike.every(
        (group) => this.members[group].length < 6 && groups[group].kind === "module",
      );
      if ((used + cost > budget && this.open.size) || cost > MOST_OPENED || small) continue;
      used += cost;
      for (const group of alike) this.open.add(group);
      const makes = new Map<string, number[]>();
      for (const child of inside.flat()) {
        const make = groups[child].type || groups[child].kind;
        makes.set(make, [...(makes.get(make) ?? []), child]);
      }
      queue.push(...makes.values());
    }
  }

  openAll() {
    this.graph.recording.groups.forEach((_, group) => this.open.add(group));
  }

  /** What the layout needs; `take` then takes its answer. */
  input(aspect: number, room: number): LayoutInput {
    const draft: Draft = {
      items: [],
      byId: new Map(),
      edges: [],
      cuts: new Set(),
      leafOf: new Map(),
    };
    const leaves = this.leavesByGroup(draft);
    const children = this.content(draft, leaves, this.inside, 0);
    const root: Box = {
      id: "root",
      width: 0,
      height: 0,
      children,
      series: this.isSeries(this.topGroups(), this.topNodes()),
    };
    this.collectEdges(draft);
    this.draft = draft;
    return { root, edges: draft.edges, aspect, room };
  }

  /** A parameter is drawn in each group that uses it, so that its edges cross no border; where many
   * nodes of a group use it, beside each of them, so that its edges stay short. */
  private leavesByGroup(draft: Draft): Map<number, Leaves> {
    const users = new Map<number, Map<number, number[]>>();
    for (const node of this.graph.operations) {
      if (!this.has(node.id)) continue;
      for (const input of node.inputs)
        if (this.graph.node(input).leaf) {
          const here = users.get(node.group) ?? new Map<number, number[]>();
          users.set(node.group, here.set(input, [...(here.get(input) ?? []), node.id]));
        }
    }
    const leaves = new Map<number, Leaves>();
    for (const [group, here] of users)
      for (const [leaf, ids] of here) {
        const each = ids.length > MOST_USERS;
        for (const user of ids) {
          const id = each ? `l${leaf}@${group}.${user}` : `l${leaf}@${group}`;
          draft.leafOf.set(`${leaf}>${user}`, id);
          const born = each ? this.graph.node(user).born : this.graph.node(leaf).born;
          leaves.set(group, (leaves.get(group) ?? new Map()).set(id, [leaf, born - 0.5]));
        }
      }
    return leaves;
  }

  private isSeries(groups: number[], nodes: number[]): boolean {
    const { groups: all } = this.graph.recording;
    return (
      groups.length > 1 &&
      nodes.length <= groups.length &&
      groups.every((group) => all[group].kind !== "module")
    );
  }

  private content(draft: Draft, leaves: Map<number, Leaves>, group: number, depth: number): Box[] {
    const outer = group === this.inside;
    const groups = outer ? this.topGroups() : this.childGroups(group);
    const nodes = outer ? this.topNodes() : this.ownNodes(group);
    const own = leaves.get(group) ?? new Map<string, [number, number]>();
    const parts: [number, () => Box][] = [
      ...groups.map((child): [number, () => Box] => [
        this.graph.groupBorn[child],
        () => this.groupBox(draft, leaves, child, depth),
      ]),
      ...nodes.map((id): [number, () => Box] => [
        this.graph.node(id).born,
        () => this.nodeBox(draft, id, depth, group),
      ]),
      ...[...own].map(([id, [leaf, order]]): [number, () => Box] => [
        order,
        () => this.leafBox(draft, id, leaf, depth),
      ]),
    ];
    return parts.sort((a, b) => a[0] - b[0]).map(([, make]) => make());
  }

  private add(draft: Draft, item: Omit<Item, "x" | "y">): Box {
    const whole = { ...item, x: 0, y: 0 };
    draft.items.push(whole);
    draft.byId.set(item.id, whole);
    return { id: item.id, width: item.width, height: item.height };
  }

  private nodeBox(draft: Draft, id: number, depth: number, group: number): Box {
    const node = this.graph.node(id);
    if (node.leaf) return this.leafBox(draft, `l${id}@${group}`, id, depth);
    const base = { node: id, group: -1, open: false, depth };
    const facts = textWidth(`${node.shape}  ${node.bytes ? bytes(node.bytes) : ""}`, 11) + 50;
    const width = Math.ceil(Math.max(96, textWidth(node.name, 12, 600) + 42, facts) / 4) * 4;
    // the area that a value takes follows its bytes
    const height = 42 + Math.round(Math.sqrt(node.bytes / this.graph.mostBytes) * 30);
    return this.add(draft, { ...base, id: `n${id}`, leaf: false, width, height, ids: [id] });
  }

  private leafBox(draft: Draft, id: string, leaf: number, depth: number): Box {
    const { op, shape } = this.graph.node(leaf);
    const width = Math.ceil(textWidth(op, 12, 600) + textWidth(shape, 11) + 32);
    return this.add(draft, {
      id,
      node: leaf,
      group: -1,
      open: false,
      depth,
      leaf: true,
      width,
      height: LEAF_HEIGHT,
      ids: [],
    });
  }

  private groupBox(draft: Draft, leaves: Map<number, Leaves>, group: number, depth: number): Box {
    const { name, type } = this.graph.recording.groups[group];
    const ids = this.members[group];
    const open = this.open.has(group);
    const title = textWidth(name, 12.5, 650) + textWidth(type, 11) + 48;
    const width = Math.ceil(
      Math.max(112, title, textWidth(groupSummary(ids.length, this.sizes[group]), 11) + 34),
    );
    const height = 50 + Math.round(Math.sqrt(this.sizes[group] / this.graph.mostGroupBytes) * 18);
    const box = this.add(draft, {
      id: `g${group}`,
      node: -1,
      group,
      open,
      depth,
      leaf: false,
      width: open ? width + 60 : width,
      height,
      ids,
    });
    if (open) {
      box.children = this.content(draft, leaves, group, depth + 1);
      box.series = this.isSeries(this.childGroups(group), this.ownNodes(group));
    }
    return box;
  }

  private collectEdges(draft: Draft) {
    const { graph } = this;
    const keys = new Set<string>();
    const connect = (from: string, to: string, cut: boolean) => {
      const key = `${from}>${to}`;
      if (from === to || keys.has(key) || !draft.byId.has(from) || !draft.byId.has(to)) return;
      keys.add(key);
      draft.edges.push([from, to]);
      if (cut) draft.cuts.add(key);
    };
    const boxes = new Map<number, string>();
    for (const node of graph.operations)
      if (this.has(node.id)) boxes.set(node.id, this.boxOf(node.id));
    for (const node of graph.operations) {
      const to = boxes.get(node.id);
      if (!to) continue;
      for (const input of node.inputs) {
        const from = graph.node(input).leaf
          ? draft.leafOf.get(`${input}>${node.id}`)
          : boxes.get(input);
        if (from) connect(from, to, false);
      }
    }
    for (const [from, to] of graph.recording.cuts)
      connect(boxes.get(from) ?? "", boxes.get(to) ?? "", true);
  }

  take(output: LayoutOutput) {
    if (!this.draft) return;
    const { items, byId, edges, cuts } = this.draft;
    for (const item of items) [item.x, item.y, item.width, item.height] = output.boxes[item.id];
    [, , this.width, this.height] = output.boxes.root;
    [this.items, this.byId] = [items, byId];
    this.edges = output.paths.map((points, i) => {
      const key = edges[i].join(">");
      const [from, to] = edges[i].map((id) => byId.get(id)!);
      return { key, from, to, points, bounds: boundsOf(points), cut: cuts.has(key) };
    });
    [this.runs, this.milliseconds, this.draft] = [output.runs, output.milliseconds, null];
  }

  /** The box at a point; an open group only at its heading. */
  hit(x: number, y: number): Item | null {
    for (let i = this.items.length - 1; i >= 0; i--) {
      const item = this.items[i];
      const inside =
        x >= item.x && y >= item.y && x <= item.x + item.width && y <= item.y + item.height;
      if (inside && (!item.open || y < item.y + 30)) return item;
    }
    return null;
  }

  /** The nearest box of the scene in which an item of an earlier one was. */
  ancestorIn(old: Map<string, Item>, item: Item): Item | undefined {
    const same = old.get(item.id);
    if (same) return same;
    const from =
      item.node >= 0
        ? item.leaf
          ? groupOfLeaf(item.id)
          : this.graph.node(item.node).group
        : this.graph.recording.groups[item.group].parent;
    for (const group of this.graph.around(from)) {
      const found = old.get(`g${group}`);
      if (found) return found;
    }
    return undefined;
  }
}
