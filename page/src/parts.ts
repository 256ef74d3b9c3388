/** A graph without modules can be thousands of nodes on one level: too many to read, and to lay out.
 * Such a level is divided into parts that follow each other in time, where a loop begins again if it can. */
import type { GraphNode, Recording } from "./recording";

const MOST = 100; // nodes on one level
const LEAST_PART = 24;
const MOST_PART = 60;

/** Edges lead to earlier nodes, so parts in order of creation never make a circle. */
function divide(nodes: GraphNode[], breaks: number[]): GraphNode[][] {
  const size = Math.max(LEAST_PART, Math.min(MOST_PART, Math.ceil(Math.sqrt(nodes.length))));
  const parts: GraphNode[][] = [];
  let part: GraphNode[] = [];
  for (const node of nodes) {
    const last = part[part.length - 1];
    const again = last !== undefined && (node.places[0]?.line ?? 0) < (last.places[0]?.line ?? 0);
    const between =
      last !== undefined && breaks.some((born) => born > last.born && born <= node.born);
    if (between || part.length >= MOST_PART || (again && part.length >= size)) {
      parts.push(part);
      part = [];
    }
    part.push(node);
  }
  // what is left over goes with the part before it
  if (parts.length && part.length < LEAST_PART / 2) parts[parts.length - 1].push(...part);
  else parts.push(part);
  return parts;
}

function linesOf(part: GraphNode[]): string {
  const lines = part.flatMap((node) => node.places.slice(0, 1).map((place) => place.line));
  if (!lines.length) return "";
  const [from, to] = [Math.min(...lines), Math.max(...lines)];
  return from === to ? `line ${from}` : `lines ${from}–${to}`;
}

export function divideLevels(recording: Recording) {
  const { nodes, groups } = recording;
  const levels = new Map<number, GraphNode[]>();
  for (const node of nodes)
    if (!node.leaf) {
      const level = levels.get(node.group);
      if (level) level.push(node);
      else levels.set(node.group, [node]);
    }
  const births = firstBirths(recording);
  for (const [parent, level] of levels) {
    if (level.length <= MOST) continue;
    level.sort((a, b) => a.born - b.born);
    const breaks = groups.flatMap((group, index) =>
      group.parent === parent ? [births.get(index) ?? 0] : [],
    );
    divide(level, breaks).forEach((part, index) => {
      for (const node of part) node.group = groups.length;
      groups.push({ name: `part ${index + 1}`, kind: "part", parent, type: linesOf(part) });
    });
  }
}

/** When the first node of each group was made. */
function firstBirths({ nodes, groups }: Recording): Map<number, number> {
  const births = new Map<number, number>();
  for (const node of nodes) {
    for (let group = node.leaf ? -1 : node.group; group >= 0; group = groups[group].parent) {
      births.set(group, Math.min(births.get(group) ?? Infinity, node.born));
    }
  }
  return births;
}
