/** What a pane shows: all of a recording, one step of it, or the graph behind one backward call. */
import type { Graph } from "./graph";
import type { GraphNode } from "./recording";
import { peakOf, type Series } from "./series";

export interface Subject {
  /** As the address of the page has it: "all", "g3", "c2". */
  key: string;
  title: string;
  /** Null: everything. */
  nodes: Set<number> | null;
  from: number;
  to: number;
}

const EVERYTHING = "all";

function everything(graph: Graph): Subject {
  return { key: EVERYTHING, title: "everything", nodes: null, from: 0, to: graph.recording.end };
}

function ofGroup(graph: Graph, group: number): Subject {
  const ids = graph.members[group];
  const nodes = new Set(
    ids.flatMap((id) => [id, ...graph.node(id).inputs.filter((input) => graph.node(input).leaf)]),
  );
  const from = Math.max(0, graph.groupBorn[group] - 1);
  const next = graph.topGroups
    .map((other) => graph.groupBorn[other])
    .filter((born) => born > graph.groupBorn[group]);
  const to = Math.min(graph.recording.end, ...next.map((born) => born - 1));
  return { key: `g${group}`, title: graph.recording.groups[group].name, nodes, from, to };
}

function ofCall(graph: Graph, number: number): Subject | null {
  const call = graph.call(number);
  if (!call) return null;
  const nodes = graph.reach(call.roots);
  return { key: `c${number}`, title: graph.nameOf(call), nodes, from: 0, to: graph.recording.end };
}

export function subjects(graph: Graph): Subject[] {
  const steps = graph.topGroups.filter(
    (group) => graph.recording.groups[group].kind === "step" && graph.members[group].length,
  );
  const calls = graph.recording.calls.map((call) => ofCall(graph, call.number));
  return [
    everything(graph),
    ...steps.map((group) => ofGroup(graph, group)),
    ...calls.filter((call) => call !== null),
  ];
}

export function subjectOf(graph: Graph, key: string): Subject {
  const index = Number(key.slice(1));
  if (/^g\d+$/.test(key) && graph.members[index]?.length) return ofGroup(graph, index);
  if (/^c\d+$/.test(key)) return ofCall(graph, index) ?? everything(graph);
  return everything(graph);
}

/** The operations of a subject, and what they keep over time. */
export class Extent {
  readonly operations: GraphNode[];
  readonly memory: Series;
  readonly live: Series;
  readonly peak: number;
  readonly mostLive: number;
  constructor(graph: Graph, subject: Subject) {
    const { nodes, from, to } = subject;
    this.operations = nodes
      ? graph.operations.filter((node) => nodes.has(node.id))
      : graph.operations;
    this.memory = graph.memory(this.operations);
    this.live = graph.live(this.operations);
    this.peak = peakOf(this.memory, from, to);
    this.mostLive = peakOf(this.live, from, to);
  }
}
