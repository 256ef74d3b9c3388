/** Mouse and touch on the picture: drag, pinch, wheel, click, double click. */
import { useMap } from "./minimap";
import type { Pane } from "./pane";

const MOVED = 4;

function useDrag(pane: Pane) {
  const { canvas, camera } = pane;
  const touches = new Map<number, PointerEvent>();
  let last: { x: number; y: number; moved: boolean } | null = null;
  let spread = 0;
  const local = (event: { clientX: number; clientY: number }): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const pinch = () => {
    const [[ax, ay], [bx, by]] = [...touches.values()].map(local);
    const now = Math.hypot(ax - bx, ay - by);
    if (spread) camera.zoom(now / spread, (ax + bx) / 2, (ay + by) / 2);
    spread = now;
    if (last) last.moved = true;
    pane.moved();
  };
  const hover = (event: PointerEvent) => {
    const id = pane.scene?.hit(...camera.toScene(...local(event)))?.id ?? null;
    canvas.style.cursor = id ? "pointer" : "grab";
    if (id === pane.hover) return;
    pane.hover = id;
    pane.redraw();
  };
  canvas.addEventListener("pointerdown", (event) => {
    touches.set(event.pointerId, event);
    last = { x: event.clientX, y: event.clientY, moved: touches.size > 1 };
    canvas.setPointerCapture(event.pointerId);
    pane.element.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!touches.has(event.pointerId)) return hover(event);
    touches.set(event.pointerId, event);
    if (touches.size === 2) return pinch();
    if (!last) return;
    const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
    if (!last.moved && Math.hypot(dx, dy) <= MOVED) return;
    camera.x += dx;
    camera.y += dy;
    last = { x: event.clientX, y: event.clientY, moved: true };
    pane.moved();
  });
  const up = (event: PointerEvent, cancelled: boolean) => {
    touches.delete(event.pointerId);
    spread = 0;
    if (last && !last.moved && !cancelled) click(pane, ...camera.toScene(...local(event)));
    if (!touches.size) last = null;
  };
  canvas.addEventListener("pointerup", (event) => up(event, false));
  canvas.addEventListener("pointercancel", (event) => up(event, true));
  canvas.addEventListener("pointerleave", () => {
    if (pane.hover === null) return;
    pane.hover = null;
    pane.redraw();
  });
  canvas.addEventListener("dblclick", (event) => {
    const item = pane.scene.hit(...camera.toScene(...local(event)));
    if (item && item.node < 0) pane.toggle(item.group);
  });
}

/** A click selects; on the triangle of a group it opens or folds. */
function click(pane: Pane, x: number, y: number) {
  const item = pane.scene.hit(x, y);
  pane.select(item?.id ?? null);
  if (item && item.node < 0 && x < item.x + 24 && y < item.y + 30) pane.toggle(item.group);
}

function useWheel(pane: Pane) {
  pane.canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const box = pane.canvas.getBoundingClientRect();
      const wheel = Math.abs(event.deltaY) >= 40 && !event.shiftKey && event.deltaX === 0;
      if (event.ctrlKey || event.metaKey || wheel) {
        pane.camera.zoom(
          Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)),
          event.clientX - box.left,
          event.clientY - box.top,
        );
      } else {
        pane.camera.x -= event.deltaX;
        pane.camera.y -= event.deltaY;
      }
      pane.moved();
    },
    { passive: false },
  );
}

export function usePointer(pane: Pane) {
  useDrag(pane);
  useWheel(pane);
  useMap(pane);
}
