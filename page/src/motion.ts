/** Folding is shown as a motion: boxes start where they were, or in the group that they came out of. */
import type { Edge, Item, Scene } from "./scene";

const MILLISECONDS = 180;
const MOST_ITEMS = 600;

type Rect = [x: number, y: number, width: number, height: number];
const rectOf = (item: Item): Rect => [item.x, item.y, item.width, item.height];

export function wanted(scene: Scene): boolean {
  return scene.items.length < MOST_ITEMS && !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** A function that puts everything at a part (0 to 1) of its way. */
function between(
  scene: Scene,
  oldItems: Map<string, Item>,
  oldEdges: Edge[],
  dx: number,
  dy: number,
) {
  const lines = new Map(oldEdges.map((edge) => [edge.key, edge.points]));
  const items = scene.items.map((item) => {
    const to = rectOf(item);
    const was = scene.ancestorIn(oldItems, item);
    if (!was) return { item, from: to, to };
    const [width, height] =
      was.id === item.id
        ? [was.width, was.height]
        : [Math.min(was.width, item.width), Math.min(was.height, item.height)];
    return { item, from: [was.x + dx, was.y + dy, width, height] as Rect, to };
  });
  const edges = scene.edges.map((edge) => {
    const was = lines.get(edge.key);
    const from =
      was?.length === edge.points.length ? was.map((v, i) => v + (i % 2 ? dy : dx)) : null;
    return { edge, from, to: edge.points };
  });
  return (part: number) => {
    for (const { item, from, to } of items)
      [item.x, item.y, item.width, item.height] = to.map((v, i) => from[i] + (v - from[i]) * part);
    for (const { edge, from, to } of edges)
      edge.points = part === 1 ? to : from ? to.map((v, i) => from[i] + (v - from[i]) * part) : [];
  };
}

export function animate(
  scene: Scene,
  old: { items: Map<string, Item>; edges: Edge[]; dx: number; dy: number },
  draw: () => void,
  current: () => boolean,
) {
  const move = between(scene, old.items, old.edges, old.dx, old.dy);
  const start = performance.now();
  const frame = () => {
    const part = current() ? Math.min(1, (performance.now() - start) / MILLISECONDS) : 1;
    move(1 - (1 - part) ** 3);
    draw();
    if (part < 1) requestAnimationFrame(frame);
  };
  frame();
}
