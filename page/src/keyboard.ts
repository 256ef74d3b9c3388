/** Everything can be done with keys alone. */
import type { App } from "./app";
import type { Pane } from "./pane";
import { groupOfLeaf, type Item } from "./scene";

type Direction = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

/** Along an edge, or else to the nearest box in a direction. */
function neighbour(pane: Pane, from: Item, direction: Direction): Item | undefined {
  const { edges, items } = pane.scene;
  const joined =
    direction === "ArrowUp"
      ? edges.filter((e) => e.to === from).map((e) => e.from)
      : direction === "ArrowDown"
        ? edges.filter((e) => e.from === from).map((e) => e.to)
        : [];
  const near = joined.sort(
    (a, b) => Number(a.leaf) - Number(b.leaf) || Math.abs(a.x - from.x) - Math.abs(b.x - from.x),
  )[0];
  if (near) return near;
  const sign = direction === "ArrowLeft" || direction === "ArrowUp" ? -1 : 1;
  const level = direction === "ArrowLeft" || direction === "ArrowRight";
  const middle = (item: Item) => [item.x + item.width / 2, item.y + Math.min(item.height, 60) / 2];
  const [x, y] = middle(from);
  let best: Item | undefined;
  let least = Infinity;
  for (const item of items) {
    if (item === from) continue;
    const [dx, dy] = [middle(item)[0] - x, middle(item)[1] - y];
    const [along, across] = level ? [dx * sign, Math.abs(dy)] : [dy * sign, Math.abs(dx)];
    if (along > 4 && along + 3 * across < least) [least, best] = [along + 3 * across, item];
  }
  return best;
}

function walk(app: App, pane: Pane, direction: Direction) {
  const current = pane.selected ? pane.scene.byId.get(pane.selected) : undefined;
  const failed = pane.failedNow();
  const first = () =>
    pane.scene.byId.get(failed ? pane.scene.boxOf(failed.node) : "") ??
    pane.scene.items.find((item) => !item.open && !item.leaf);
  const next = current ? neighbour(pane, current, direction) : first();
  if (!next) return;
  pane.select(next.id);
  pane.bringIntoSight(next);
  app.announce(pane.say(next));
}

/** The group around what is selected. */
function outward(app: App, pane: Pane) {
  const item = pane.selected ? pane.scene.byId.get(pane.selected) : undefined;
  if (!item) return;
  const inside =
    item.node < 0
      ? pane.graph.recording.groups[item.group].parent
      : item.leaf
        ? groupOfLeaf(item.id)
        : pane.graph.node(item.node).group;
  const around = pane.scene.byId.get(`g${inside}`);
  if (!around) return;
  pane.select(around.id);
  pane.bringIntoSight(around);
  app.announce(pane.say(around));
}

async function enter(app: App, pane: Pane) {
  const item = pane.selected ? pane.scene.byId.get(pane.selected) : undefined;
  if (!item || item.node >= 0) return;
  await pane.toggle(item.group);
  const now = pane.scene.byId.get(item.id);
  if (now) app.announce(pane.say(now));
}

export const KEYS: [keys: string, does: string][] = [
  ["← ↑ ↓ →", "walk along edges, or to the nearest box"],
  ["Enter", "open or fold the selected group"],
  ["Backspace", "select the group around"],
  ["[ ]", "the previous and the next event in time"],
  ["Space", "play and pause"],
  ["/", "search"],
  ["e", "show the failing path"],
  ["c", "two pictures side by side, or one"],
  ["o", "the outline, a list of the same"],
  ["r, 1 … 9", "the report, and the places of its finding, where there is one"],
  ["0", "see all of it"],
  ["+ −", "closer, farther"],
  ["Shift F, Shift O", "fold all, open all"],
  ["s", "save the picture as SVG"],
  ["t", "light or dark"],
  ["Escape", "select nothing"],
];

export function useKeyboard(app: App) {
  const zoom = (factor: number) => {
    const [width, height] = app.active.size;
    app.active.camera.zoom(factor, width / 2, height / 2);
    app.active.moved();
  };
  const actions: Record<string, () => void> = {
    "/": () => app.search.input.focus(),
    "[": () => app.timelineOf(app.active).jump(-1),
    "]": () => app.timelineOf(app.active).jump(1),
    " ": () => app.timelineOf(app.active).play(),
    "0": () => app.active.fit(),
    "+": () => zoom(1.25),
    "=": () => zoom(1.25),
    "-": () => zoom(0.8),
    Backspace: () => outward(app, app.active),
    Escape: () => app.clear(),
    e: () => void app.active.showFailure(),
    c: () => void app.toggleCompare(),
    o: () => app.toggleOutline(),
    r: () => app.showReport(),
    s: () => app.saveSvg(),
    t: () => app.toggleTheme(),
    F: () => void app.active.foldAll(),
    O: () => void app.active.openAll(),
    "?": () => app.help(),
  };
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog")) return;
    const slider = target instanceof HTMLInputElement && target.type === "range";
    if ((target instanceof HTMLInputElement && !slider) || target instanceof HTMLSelectElement)
      return;
    const inPane = target.closest(".pane") !== null || target === document.body;
    if (event.key.startsWith("Arrow") && inPane && !target.closest(".bar")) {
      event.preventDefault();
      walk(app, app.active, event.key as Direction);
    } else if (event.key === "Enter" && target.classList.contains("pane"))
      void enter(app, app.active);
    else if (/^[1-9]$/.test(event.key)) void app.report?.goToNumber(event.key);
    else if (actions[event.key] && !(event.key === " " && target.tagName === "BUTTON")) {
      event.preventDefault();
      actions[event.key]();
    }
  });
}
