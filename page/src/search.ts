/** Finds groups and nodes by operation, module, parameter, line, text of a line, shape or number. */
import type { App } from "./app";
import { count, escape } from "./format";
import type { Pane } from "./pane";
import type { GraphNode } from "./recording";

const MOST_GROUPS = 12;
const MOST = 40;

interface Hit {
  label: string;
  about: string;
  go: () => Promise<void>;
}

function nodeMatches(pane: Pane, node: GraphNode, query: string): boolean {
  const place = node.places[0];
  return (
    node.name.toLowerCase().includes(query) ||
    node.label.toLowerCase().includes(query) ||
    node.shape === query.replaceAll("x", "×") ||
    `#${node.id}` === query ||
    (place !== undefined &&
      (`line ${place.line}` === query || pane.graph.line(place).toLowerCase().includes(query)))
  );
}

export function findAll(pane: Pane, text: string): { hits: Hit[]; total: number } {
  const query = text.trim().toLowerCase();
  const hits: Hit[] = [];
  let total = 0;
  if (!query) return { hits, total };
  const { graph, scene } = pane;
  graph.recording.groups.forEach(({ name, type, kind, parent }, group) => {
    if (
      !scene.membersOf(group).length ||
      !(name.toLowerCase().includes(query) || type.toLowerCase().includes(query))
    )
      return;
    total++;
    const about = [
      type || kind,
      count(scene.membersOf(group).length, "node"),
      parent >= 0 ? graph.recording.groups[parent].name : "",
    ]
      .filter(Boolean)
      .join(" · ");
    if (hits.length < MOST_GROUPS)
      hits.push({ label: name, about, go: () => pane.goToGroup(group) });
  });
  for (const node of graph.recording.nodes) {
    if (!scene.has(node.id) || !nodeMatches(pane, node, query)) continue;
    total++;
    const about = [
      graph.path(node.group).join(" › "),
      node.places[0] ? `line ${node.places[0].line}` : "",
    ]
      .filter(Boolean)
      .join(" · ");
    if (hits.length < MOST)
      hits.push({
        label: node.leaf ? node.label || "leaf" : node.name,
        about,
        go: () => pane.goTo(node.id),
      });
  }
  return { hits, total };
}

export class Search {
  private hits: Hit[] = [];
  private chosen = 0;

  constructor(
    private app: App,
    readonly input: HTMLInputElement,
    private list: HTMLElement,
  ) {
    input.addEventListener("input", () => {
      this.chosen = 0;
      this.update();
    });
    input.addEventListener("focus", () => this.update());
    input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    input.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("mousedown", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[role=option]");
      if (row) this.go(Number(row.dataset.index));
    });
  }

  private close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  private update() {
    const { hits, total } = findAll(this.app.active, this.input.value);
    this.hits = hits;
    this.chosen = Math.max(0, Math.min(this.chosen, hits.length - 1));
    const open = this.input.value.trim() !== "";
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
    this.input.setAttribute("aria-activedescendant", hits.length ? `hit-${this.chosen}` : "");
    const row = ({ label, about }: Hit, i: number) =>
      `<div role="option" id="hit-${i}" data-index="${i}" aria-selected="${i === this.chosen}">${escape(label)}<span>${escape(about)}</span></div>`;
    this.list.innerHTML = `${hits.map(row).join("")}<p>${total > hits.length ? `${hits.length} of ` : ""}${count(total, "result")}</p>`;
  }

  private go(index: number) {
    const hit = this.hits[index];
    if (!hit) return;
    this.close();
    this.app.active.element.focus();
    this.app.showDetails();
    void hit.go();
  }

  private key(event: KeyboardEvent) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) {
      event.preventDefault();
      this.chosen = (this.chosen + step + this.hits.length) % Math.max(1, this.hits.length);
      this.update();
      this.list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") this.go(this.chosen);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.close();
      this.app.active.element.focus();
    }
  }
}
