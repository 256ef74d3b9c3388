/** The state of a node at a time: a few comparisons of the times of its life. */
import type { GraphNode } from "./recording";

export const State = {
  Unborn: 0,
  Created: 1,
  Retained: 2,
  Freed: 3,
  Passed: 4,
  Detached: 5,
  Gone: 6,
  Unknown: 7,
  Leaf: 8,
} as const;
export type State = (typeof State)[keyof typeof State];

export interface StateLook {
  word: string;
  /** What a person reads about it in the legend. */
  meaning: string;
  /** Name of its colour in the style sheet. */
  colour: string;
}

export const LOOKS: StateLook[] = [
  { word: "not yet", meaning: "it does not exist yet at this time", colour: "gone" },
  { word: "created", meaning: "recorded; no backward came through", colour: "created" },
  { word: "retained", meaning: "a backward came through and kept its values", colour: "retained" },
  { word: "freed", meaning: "a backward came through and freed its values", colour: "freed" },
  {
    word: "passed",
    meaning: "a backward came through; it had nothing saved to free",
    colour: "passed",
  },
  {
    word: "detached",
    meaning: "its result was detached: no gradient comes back",
    colour: "detached",
  },
  { word: "collected", meaning: "nothing held it any more", colour: "gone" },
  { word: "unknown", meaning: "not visible in this library", colour: "unknown" },
  { word: "parameter", meaning: "a leaf: gradients are collected here", colour: "leaf" },
];

/** Those that the legend counts, in the order of a life. */
export const COUNTED: State[] = [
  State.Created,
  State.Retained,
  State.Freed,
  State.Passed,
  State.Detached,
  State.Gone,
  State.Unknown,
  State.Unborn,
];

export function hasValues(node: GraphNode): boolean {
  return node.saved.length > 0 || node.unknown.has("saved");
}

export function stateAt(node: GraphNode, time: number): State {
  if (time < node.born) return State.Unborn;
  if (node.leaf) return State.Leaf;
  if (node.gone && time >= node.gone) return State.Gone;
  if (node.unknown.has("state")) return State.Unknown;
  if (node.freed && time >= node.freed) return hasValues(node) ? State.Freed : State.Passed;
  if (node.cut && time >= node.cut) return State.Detached;
  if (node.kept && time >= node.kept) return State.Retained;
  return State.Created;
}

/** How many of the nodes are in each state, by its number. */
export function countStates(nodes: Iterable<GraphNode>, time: number): number[] {
  const counts = LOOKS.map(() => 0);
  for (const node of nodes) counts[stateAt(node, time)]++;
  return counts;
}
