/** A small picture of all, with a frame around what is in sight; only where not all of it is. */
import { sharpen, type Pane } from "./pane";
import { CanvasPen } from "./pen";

const WIDE = 148;
const HIGH = 96;

function scaleOf(pane: Pane): number {
  return Math.min(WIDE / pane.scene.width, HIGH / pane.scene.height);
}

export function drawMap(pane: Pane) {
  const { scene, camera, map, host } = pane;
  const [width, height] = pane.size;
  const [left, top, right, bottom] = camera.clip(width, height);
  const all = left <= 2 && top <= 2 && right >= scene.width - 2 && bottom >= scene.height - 2;
  map.hidden = all || width < 420 || scene.items.length < 8;
  if (map.hidden) return;
  const k = scaleOf(pane);
  const [w, h] = [scene.width * k, scene.height * k];
  map.style.width = `${w + 8}px`;
  map.style.height = `${h + 8}px`;
  const context = sharpen(map, w + 8, h + 8);
  context.translate(4, 4);
  const pen = new CanvasPen(context);
  const { colours } = host;
  const blocks: number[] = [];
  for (const item of scene.items) {
    if (item.open && item.depth < 2)
      pen.rect(item.x * k, item.y * k, item.width * k, item.height * k, 1, colours.group2, {
        stroke: colours.line,
        width: 0.6,
      });
    else if (!item.open && !item.leaf)
      blocks.push(
        item.x * k,
        item.y * k,
        Math.max(1, item.width * k),
        Math.max(1, item.height * k),
      );
  }
  pen.rects(blocks, colours.edge, {});
  const clamp = (value: number, most: number) => Math.max(0, Math.min(most, value * k));
  const [x0, y0, x1, y1] = [clamp(left, w), clamp(top, h), clamp(right, w), clamp(bottom, h)];
  pen.rect(x0, y0, x1 - x0, y1 - y0, 2, null, { stroke: colours.accent, width: 1.6 });
}

export function useMap(pane: Pane) {
  let down = false;
  const go = (event: PointerEvent) => {
    const box = pane.map.getBoundingClientRect();
    const k = scaleOf(pane);
    pane.camera.centre(
      (event.clientX - box.left - 4) / k,
      (event.clientY - box.top - 4) / k,
      ...pane.size,
    );
    pane.moved();
  };
  pane.map.addEventListener("pointerdown", (event) => {
    down = true;
    pane.map.setPointerCapture(event.pointerId);
    go(event);
  });
  pane.map.addEventListener("pointermove", (event) => down && go(event));
  pane.map.addEventListener("pointerup", () => (down = false));
}
