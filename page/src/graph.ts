/** What follows from the recorded facts: who uses whom, what a group keeps, who holds a node. */
import type { Call, GraphNode, Place, Recording } from "./recording";
import { accumulate, type Series } from "./series";
import { State, stateAt } from "./state";

export interface Holder {
  path: string;
  /** The node that the variable refers to, and over how many nodes it keeps this one. */
  via: number;
  hops: number;
}

export class Graph {
  readonly children: number[][];
  /** Nodes directly in a group, and all nodes inside it. */
  readonly own: number[][];
  readonly members: number[][];
  readonly groupBytes: number[];
  readonly groupBorn: number[];
  readonly topGroups: number[] = [];
  readonly topNodes: number[] = [];
  readonly mostBytes: number;
  readonly mostGroupBytes: number;
  /** Nodes that are operations: what is counted. */
  readonly operations: GraphNode[];

  constructor(readonly recording: Recording) {
    const lists = () => recording.groups.map((): number[] => []);
    [this.children, this.own, this.members] = [lists(), lists(), lists()];
    recording.groups.forEach((group, index) =>
      (group.parent < 0 ? this.topGroups : this.children[group.parent]).push(index),
    );
    this.operations = recording.nodes.filter((node) => !node.leaf);
    for (const node of recording.nodes)
      if (node.leaf && node.group < 0 && !node.outputs.length) this.topNodes.push(node.id);
    for (const node of this.operations) {
      (node.group < 0 ? this.topNodes : this.own[node.group]).push(node.id);
      for (const group of this.around(node.group)) this.members[group].push(node.id);
    }
    this.groupBytes = this.members.map((ids) => this.bytesOf(ids));
    this.groupBorn = this.members.map((ids) =>
      ids.reduce((least, id) => Math.min(least, this.node(id).born), Infinity),
    );
    this.mostGroupBytes = this.groupBytes.reduce((most, size) => Math.max(most, size), 1);
    this.mostBytes = this.operations.reduce((most, node) => Math.max(most, node.bytes), 1);
  }

  node(id: number): GraphNode {
    return this.recording.nodes[id];
  }

  /** A group and those around it, the innermost first. */
  around(group: number): number[] {
    const out: number[] = [];
    for (let g = group; g >= 0; g = this.recording.groups[g].parent) out.push(g);
    return out;
  }

  path(group: number): string[] {
    return this.around(group)
      .reverse()
      .map((g) => this.recording.groups[g].name);
  }

  /** Bytes that these nodes keep; a value that several of them saved counts once. */
  bytesOf(ids: Iterable<number>): number {
    const seen = new Set<number>();
    let total = 0;
    for (const id of ids)
      for (const value of this.node(id).saved) {
        if (value.owner || (value.storage >= 0 && seen.has(value.storage))) continue;
        seen.add(value.storage);
        total += value.keeps;
      }
    return total;
  }

  /** From when on a node keeps nothing. */
  endOf(node: GraphNode): number {
    return Math.min(node.freed || Infinity, node.gone || Infinity);
  }

  /** Saved bytes over time: a storage counts once, from its first holder's birth to its last one's end. */
  memory(nodes: Iterable<GraphNode>): Series {
    const spans = new Map<number | string, [from: number, to: number, bytes: number]>();
    for (const node of nodes)
      node.saved.forEach((value, index) => {
        if (value.owner) return;
        const key = value.storage < 0 ? `${node.id}.${index}` : value.storage;
        const span = spans.get(key) ?? [node.born, 0, value.keeps];
        spans.set(key, [
          Math.min(span[0], node.born),
          Math.max(span[1], this.endOf(node)),
          value.keeps,
        ]);
      });
    const changes: [number, number][] = [];
    for (const [from, to, size] of spans.values()) {
      changes.push([from, size]);
      if (to <= this.recording.end) changes.push([to, -size]);
    }
    return accumulate(changes);
  }

  /** Nodes that exist, over time. */
  live(nodes: Iterable<GraphNode>): Series {
    const changes: [number, number][] = [];
    for (const node of nodes)
      if (!node.leaf) {
        changes.push([node.born, 1]);
        if (node.gone) changes.push([node.gone, -1]);
      }
    return accumulate(changes);
  }

  /** All nodes that a backward from these roots would come to. */
  reach(roots: number[]): Set<number> {
    const seen = new Set(roots);
    const waiting = [...roots];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      for (const input of this.node(id).inputs)
        if (!seen.has(input)) {
          seen.add(input);
          waiting.push(input);
        }
    }
    return seen;
  }

  /** A shortest way that a backward takes from its roots to a node; empty where there is none. */
  route(roots: number[], to: number): number[] {
    const before = new Map<number, number>(roots.map((root) => [root, -1]));
    let ring = roots;
    while (ring.length && !before.has(to)) {
      const next: number[] = [];
      for (const id of ring)
        for (const input of this.node(id).inputs)
          if (!before.has(input)) {
            before.set(input, id);
            next.push(input);
          }
      ring = next;
    }
    const out: number[] = [];
    if (before.has(to)) for (let id = to; id !== -1; id = before.get(id)!) out.push(id);
    return out.reverse();
  }

  /** The variables that were seen to hold nodes, at the last look before a time. */
  heldAt(time: number): [path: string, node: number][] {
    let held: [string, number][] = [];
    for (const [at, pairs] of this.recording.sweeps) if (at <= time) held = pairs;
    return held;
  }

  /** The nearest variables that keep a node alive. */
  holders(id: number, time: number, most = 3): Holder[] {
    const paths = new Map<number, string[]>();
    for (const [path, node] of this.heldAt(time))
      paths.set(node, [...(paths.get(node) ?? []), path]);
    const seen = new Set([id]);
    const out: Holder[] = [];
    let ring = [id];
    for (let hops = 0; ring.length && out.length < most; hops++) {
      const next: number[] = [];
      for (const via of ring) {
        for (const path of paths.get(via) ?? []) out.push({ path, hops, via });
        for (const user of this.node(via).outputs) {
          const state = stateAt(this.node(user), time);
          if (seen.has(user) || state === State.Gone || state === State.Unborn) continue;
          seen.add(user);
          next.push(user);
        }
      }
      ring = next;
    }
    return out.slice(0, most);
  }

  /** The calls that came through a node, also those that failed further on. */
  callsThrough(node: GraphNode): Call[] {
    return this.recording.calls.filter(
      (call) => call.start > node.born && this.route(call.roots, node.id).length > 0,
    );
  }

  call(number: number): Call | undefined {
    return this.recording.calls.find((call) => call.number === number);
  }

  /** "backward 2 of loss_b" */
  nameOf(call: Call): string {
    return `${call.kind} ${call.number}${call.of ? ` of ${call.of}` : ""}`;
  }

  failedBy(time: number): Call | undefined {
    return this.recording.calls.find((call) => call.failure && time >= call.end);
  }

  line(place: Place | null | undefined): string {
    return place ? (this.recording.files[place.file]?.lines[place.line - 1] ?? "") : "";
  }

  /** The times at which something happened that the time line shows. */
  moments(from = 0, to = this.recording.end): number[] {
    const { events, calls } = this.recording;
    const times = [
      from,
      ...events.map((event) => event.time),
      ...calls.flatMap((call) => [call.start, call.end]),
      to,
    ];
    return [...new Set(times)].filter((time) => time >= from && time <= to).sort((a, b) => a - b);
  }
}
