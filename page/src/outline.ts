/** The graph as a tree of words: the same folding, for a screen reader and for who likes lists. */
import type { App } from "./app";
import { bytes, count, escape } from "./format";
import { glyphHtml } from "./glyphs";
import type { Pane } from "./pane";
import { LOOKS, stateAt } from "./state";

const MOST = 400; // rows; a reader is not helped by thousands

interface Row {
  id: string;
  depth: number;
  html: string;
  open: boolean | null; // null: a node
}

function nodeRow(pane: Pane, id: number, depth: number): Row {
  const node = pane.graph.node(id);
  const state = stateAt(node, pane.time);
  const size = node.bytes ? ` <small>${bytes(node.bytes)}</small>` : "";
  const words = `${glyphHtml(state)}${escape(node.name)} <span class="soft">${LOOKS[state].word}, ${escape(node.shape)}</span>${size}`;
  return { id: `n${id}`, depth, html: words, open: null };
}

function groupRow(pane: Pane, group: number, depth: number): Row {
  const { name, type } = pane.graph.recording.groups[group];
  const open = pane.scene.open.has(group);
  const inside = `${count(pane.scene.membersOf(group).length, "node")}, ${bytes(pane.scene.bytesOf(group))}`;
  return {
    id: `g${group}`,
    depth,
    html: `<i>${open ? "▾" : "▸"}</i><b>${escape(name)}</b> <span class="soft">${escape(type)} ${inside}</span>`,
    open,
  };
}

function rowsOf(pane: Pane): Row[] {
  const rows: Row[] = [];
  const { scene, graph } = pane;
  const level = (groups: number[], nodes: number[], depth: number) => {
    const parts = [
      ...groups.map((group): [number, () => void] => [
        graph.groupBorn[group],
        () => {
          rows.push(groupRow(pane, group, depth));
          if (scene.open.has(group))
            level(scene.childGroups(group), scene.ownNodes(group), depth + 1);
        },
      ]),
      ...nodes
        .filter((id) => !graph.node(id).leaf)
        .map((id): [number, () => void] => [
          graph.node(id).born,
          () => rows.push(nodeRow(pane, id, depth)),
        ]),
    ];
    for (const [, add] of parts.sort((a, b) => a[0] - b[0])) if (rows.length < MOST) add();
  };
  level(scene.topGroups(), scene.topNodes(), 0);
  return rows;
}

export class Outline {
  private rows: Row[] = [];

  constructor(
    private app: App,
    private element: HTMLElement,
  ) {
    element.addEventListener("click", (event) => {
      const id = (event.target as HTMLElement).closest<HTMLElement>("[role=treeitem]")?.dataset.id;
      if (!id) return;
      if ((event.target as HTMLElement).tagName === "I") this.fold(id);
      else this.choose(id);
    });
    element.addEventListener("keydown", (event) => this.key(event));
  }

  private get pane(): Pane {
    return this.app.active;
  }

  update() {
    this.rows = rowsOf(this.pane);
    const had = this.element.contains(document.activeElement);
    const current = this.rows.some((row) => row.id === this.pane.selected)
      ? this.pane.selected
      : this.rows[0]?.id;
    const items = this.rows.map(
      ({ id, depth, html, open }) =>
        `<li role="treeitem" data-id="${id}" aria-level="${depth + 1}" aria-selected="${id === this.pane.selected}"${open === null ? "" : ` aria-expanded="${open}"`} tabindex="${id === current ? 0 : -1}" style="padding-left:${6 + depth * 14}px">${html}</li>`,
    );
    const more =
      this.rows.length >= MOST
        ? `<p class="soft">The first ${MOST} rows. Fold groups to see others.</p>`
        : "";
    this.element.innerHTML = `<ul role="tree" aria-label="Outline of ${escape(this.pane.graph.recording.title)}">${items.join("")}</ul>${more}`;
    if (had) this.focus();
  }

  focus() {
    this.element.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }

  private fold(id: string) {
    if (id.startsWith("g")) void this.pane.toggle(Number(id.slice(1)));
  }

  private choose(id: string) {
    const item = this.pane.scene.byId.get(id);
    this.pane.select(id);
    if (item) this.pane.bringIntoSight(item);
  }

  private key(event: KeyboardEvent) {
    const id = (event.target as HTMLElement).dataset.id;
    const index = this.rows.findIndex((row) => row.id === id);
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const { open, depth } = this.rows[index];
    const parent = this.rows
      .slice(0, index)
      .reverse()
      .find((row) => row.depth < depth)?.id;
    const moves: Record<string, () => void> = {
      ArrowDown: () => this.choose(this.rows[Math.min(this.rows.length - 1, index + 1)].id),
      ArrowUp: () => this.choose(this.rows[Math.max(0, index - 1)].id),
      Home: () => this.choose(this.rows[0].id),
      End: () => this.choose(this.rows[this.rows.length - 1].id),
      ArrowRight: () =>
        open === false ? this.fold(id!) : open ? this.choose(this.rows[index + 1].id) : undefined,
      ArrowLeft: () => (open ? this.fold(id!) : parent ? this.choose(parent) : undefined),
      Enter: () => (open === null ? this.app.showDetails() : this.fold(id!)),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  }
}
