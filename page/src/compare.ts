/** Two losses, two steps, or two recordings beside each other, and what differs. */
import { bytes, escape, number } from "./format";
import type { Graph } from "./graph";
import { nodeLink, section, table } from "./html";
import type { Pane } from "./pane";
import type { GraphNode } from "./recording";
import { countStates, State } from "./state";
import { subjects } from "./subject";

export interface Choice {
  recording: number;
  subject: string;
}

/** What is most worth comparing: two recordings, the last two steps, or the last two losses. */
export function firstPair(graphs: Graph[], current: number): [Choice, Choice] {
  if (graphs.length > 1) {
    const other = current + 1 < graphs.length ? current + 1 : current - 1;
    return [Math.min(current, other), Math.max(current, other)].map((recording) => ({
      recording,
      subject: "all",
    })) as [Choice, Choice];
  }
  const all = subjects(graphs[current]);
  const steps = all.filter(({ key }) => key.startsWith("g")).map(({ key }) => key);
  const calls = all.filter(({ key }) => key.startsWith("c")).map(({ key }) => key);
  const [left, right] =
    steps.length > 1 ? steps.slice(-2) : calls.length > 1 ? calls.slice(-2) : ["all", "all"];
  return [
    { recording: current, subject: left },
    { recording: current, subject: right },
  ];
}

/** Nodes of the same make have the same signature, whatever step they are of. */
function signature(graph: Graph, node: GraphNode): string {
  const path = graph
    .around(node.group)
    .map((group) => graph.recording.groups[group])
    .filter((group) => group.kind === "module" || group.kind === "pass")
    .map((group) => group.name);
  const saved = node.saved.map((value) => `${value.name}${value.shape}`).join();
  return [
    node.name,
    node.shape,
    node.dtype,
    path.join("/"),
    node.places[0]?.line ?? "",
    saved,
  ].join("|");
}

export interface Difference {
  shared: number;
  only: [Set<number>, Set<number>];
}

/** Nodes of one pane that have no counterpart in the other. */
export function difference(a: Pane, b: Pane): Difference {
  if (a.graph === b.graph) {
    const inside = [a, b].map((pane) => new Set(pane.extent.operations.map((node) => node.id)));
    const shared = [...inside[0]].filter((id) => inside[1].has(id));
    if (shared.length) {
      const without = (ids: Set<number>) =>
        new Set([...ids].filter((id) => !inside[0].has(id) || !inside[1].has(id)));
      return { shared: shared.length, only: [without(inside[0]), without(inside[1])] };
    }
  }
  return { shared: 0, only: [unmatched(a, b), unmatched(b, a)] };
}

function unmatched(pane: Pane, other: Pane): Set<number> {
  const there = new Map<string, number>();
  for (const node of other.extent.operations) {
    const key = signature(other.graph, node);
    there.set(key, (there.get(key) ?? 0) + 1);
  }
  const out = new Set<number>();
  for (const node of pane.extent.operations) {
    const key = signature(pane.graph, node);
    const left = there.get(key) ?? 0;
    if (left) there.set(key, left - 1);
    else out.add(node.id);
  }
  return out;
}

function summaryRows(a: Pane, b: Pane): string[][] {
  const sum = (pane: Pane) => pane.graph.bytesOf(pane.extent.operations.map((node) => node.id));
  const states = [a, b].map((pane) => countStates(pane.extent.operations, pane.time));
  const row = (name: string, left: number, right: number, show: (value: number) => string) => [
    name,
    show(left),
    left === right ? show(right) : `<b>${show(right)}</b>`,
  ];
  return [
    row("nodes", a.extent.operations.length, b.extent.operations.length, number),
    row("saved, all", sum(a), sum(b), bytes),
    row("peak", a.extent.peak, b.extent.peak, bytes),
    row("created now", states[0][State.Created], states[1][State.Created], number),
    row("retained now", states[0][State.Retained], states[1][State.Retained], number),
    row("freed now", states[0][State.Freed], states[1][State.Freed], number),
  ];
}

function operationRows(a: Pane, b: Pane): string[][] {
  const counts = new Map<string, [number, number]>();
  [a, b].forEach((pane, side) => {
    for (const node of pane.extent.operations) {
      const both = counts.get(node.name) ?? [0, 0];
      both[side]++;
      counts.set(node.name, both);
    }
  });
  return [...counts]
    .filter(([, [left, right]]) => left !== right)
    .map(([name, [left, right]]) => [escape(name), number(left), number(right)]);
}

export function comparison(a: Pane, b: Pane): string {
  const { shared, only } = difference(a, b);
  const names = [a, b].map((pane) =>
    a.recording === b.recording ? pane.subject.title : pane.graph.recording.title,
  );
  const first = (pane: Pane, ids: Set<number>) =>
    [...ids]
      .slice(0, 6)
      .map(
        (id) =>
          `<li>${nodeLink(pane.graph, id)} <span class="soft">${escape(pane.graph.node(id).shape)}</span></li>`,
      )
      .join("");
  const told = shared
    ? `<p class="lead"><b>${number(shared)}</b> nodes are in both: a backward that does not keep the graph frees them for the other one, too.</p>`
    : only[0].size + only[1].size
      ? `<p class="lead">Marked with <b class="flag">+</b>: what the other side does not have.</p>`
      : `<p class="lead">Both have the same operations, shapes and lines.</p>`;
  const differing = operationRows(a, b);
  return [
    `<h2>Side by side</h2>`,
    told,
    table(["", ...names.map(escape)], summaryRows(a, b)),
    section(
      "Operations that differ",
      differing.length ? table(["operation", "left", "right"], differing.slice(0, 12)) : "",
    ),
    section(
      `Only left: ${number(only[0].size)}`,
      only[0].size ? `<ul data-pane="0">${first(a, only[0])}</ul>` : "",
    ),
    section(
      `Only right: ${number(only[1].size)}`,
      only[1].size ? `<ul data-pane="1">${first(b, only[1])}</ul>` : "",
    ),
  ].join("");
}
