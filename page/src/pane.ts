/** One picture of a graph: what it shows, at which time, from where. Two of them stand side by side. */
import { Camera, type Bounds } from "./camera";
import { count } from "./format";
import type { Graph } from "./graph";
import { drawLegend } from "./legend";
import { drawMap } from "./minimap";
import * as motion from "./motion";
import { paint, type Failed, type Look } from "./paint";
import { CanvasPen } from "./pen";
import { place } from "./placing";
import { usePointer } from "./pointer";
import type { Call, GraphNode, Place } from "./recording";
import type { Pin } from "./report";
import { Scene, type Item } from "./scene";
import { LOOKS, stateAt, type State } from "./state";
import { Extent, subjectOf, type Subject } from "./subject";
import type { Colours } from "./theme";

export interface Host {
  colours: Colours;
  /** Something of a pane has changed: what the panel, the time line and the address show. */
  changed(pane: Pane, what: "time" | "selection" | "scene"): void;
  activate(pane: Pane): void;
  /** What a report marks on the time line. */
  readonly pins: Pin[];
}

const SMALL = 60; // a graph of so many nodes is shown open
const BUDGET = 34; // boxes to start with otherwise
const READABLE = 0.62; // the least scale to start with; all of a small graph may be smaller
const READABLE_SMALL = 0.45;
const MOST_SHOWN = 8; // nodes that are brought into sight together

export function sharpen(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const density = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d")!;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

export class Pane {
  readonly element = document.createElement("section");
  readonly canvas = document.createElement("canvas");
  readonly map = document.createElement("canvas");
  readonly bar = document.createElement("div");
  readonly camera = new Camera();
  graph!: Graph;
  scene!: Scene;
  subject!: Subject;
  extent!: Extent;
  recording = -1;
  time = 0;
  selected: string | null = null;
  hover: string | null = null;
  /** Only nodes of one state, or of one line. */
  filter: State | null = null;
  line: Place | null = null;
  marked: Map<number, string> | null = null;
  /** Nodes that a place of a report is about, besides the selected one. */
  beside: Set<number> | null = null;
  private turn = 0;
  private laidOut = 0; // the width for which it is laid out
  private opened: Promise<void> = Promise.resolve();
  private asked = false;
  private framing: (() => void) | null = null; // how the picture was put into its room
  private failed: { of: unknown; call: unknown; value: Failed | null } | null = null;

  constructor(
    readonly host: Host,
    readonly name: string,
  ) {
    this.element.className = "pane";
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "application");
    this.bar.className = "bar";
    this.map.className = "map";
    this.canvas.className = "view";
    const stage = document.createElement("div");
    stage.className = "stage";
    stage.append(this.canvas, this.map);
    this.element.append(this.bar, stage);
    this.element.addEventListener("focusin", () => host.activate(this));
    usePointer(this);
    new ResizeObserver(() => this.resized()).observe(stage);
  }

  /** One has moved the picture: it stays so when the window changes. */
  moved() {
    this.framing = null;
    this.redraw();
  }

  private resized() {
    // it was laid out while it had no room: behind the report on a narrow screen
    if (this.scene && !this.laidOut && this.size[0]) void this.open();
    else if (this.scene && this.framing) this.framing();
    this.redraw();
  }

  get size(): [width: number, height: number] {
    return [this.canvas.clientWidth, this.canvas.clientHeight];
  }

  /** Starts at what went wrong, or else where memory was last at its peak. `open` then draws it. */
  show(graph: Graph, recording: number, subject: string) {
    this.graph = graph;
    this.recording = recording;
    this.subject = subjectOf(graph, subject);
    this.scene = new Scene(graph, this.subject);
    this.extent = new Extent(graph, this.subject);
    [this.selected, this.hover, this.filter] = [null, null, null];
    [this.line, this.marked, this.beside] = [null, null, null];
    const failing = graph.recording.calls.find((call) => call.failure);
    const { from, to } = this.subject;
    const quiet = !graph.recording.calls.length; // a look at a graph as it was: its end is what one sees
    this.time = quiet
      ? to
      : failing && failing.end > from && failing.end <= to
        ? failing.end
        : this.lastPeak();
    this.unfoldFirst(failing?.failure?.node ?? -1);
    this.element.setAttribute(
      "aria-label",
      `Graph of ${graph.recording.title}, ${this.subject.title}. Arrow keys walk along edges, Enter opens or folds a group, slash searches, question mark tells all keys.`,
    );
    drawLegend(this);
  }

  /** The last moment at which memory was about at its peak. */
  private lastPeak(): number {
    const { memory, peak } = this.extent;
    const { from, to } = this.subject;
    for (let i = memory.length - 1; i >= 0; i--) {
      const until = (memory[i + 1]?.[0] ?? to + 1) - 1;
      if (memory[i][0] <= to && until >= from && memory[i][1] >= peak * 0.98)
        return Math.min(until, to);
    }
    return to;
  }

  open(): Promise<void> {
    this.opened = this.relayout().then(() => this.home());
    return this.opened;
  }

  private unfoldFirst(failed: number) {
    const { scene } = this;
    if (this.extent.operations.length <= SMALL) return scene.openAll();
    if (failed >= 0 && scene.has(failed)) return scene.reveal(this.graph.node(failed).group);
    const newest = scene.topGroups().filter((group) => this.graph.groupBorn[group] <= this.time);
    scene.unfold(newest.slice(-1), BUDGET);
  }

  async relayout(anchor?: string) {
    const turn = ++this.turn;
    const { scene } = this;
    const [width, height] = this.size;
    this.laidOut = width;
    this.element.classList.add("busy");
    const before = anchor ? scene.byId.get(anchor) : undefined;
    const output = await place(
      scene.input(Math.max(0.5, width / Math.max(1, height)), width / 0.8 - 60),
    );
    if (turn !== this.turn || scene !== this.scene) return;
    this.element.classList.remove("busy");
    const old = { items: scene.byId, edges: scene.edges, dx: 0, dy: 0 };
    scene.take(output);
    const after = anchor ? scene.byId.get(anchor) : undefined;
    if (before && after) {
      this.framing = null;
      // the heading that was clicked stays where it is
      [old.dx, old.dy] = [after.x - before.x, after.y - before.y];
      this.camera.x -= old.dx * this.camera.k;
      this.camera.y -= old.dy * this.camera.k;
      if (motion.wanted(scene))
        motion.animate(
          scene,
          old,
          () => this.draw(),
          () => turn === this.turn,
        );
    }
    this.redraw();
    this.host.changed(this, "scene");
  }

  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (this.scene) this.draw();
    });
  }

  failedNow(): Failed | null {
    const call = this.graph.failedBy(this.time);
    if (this.failed?.of !== this.scene.items || this.failed.call !== call) {
      this.failed = { of: this.scene.items, call, value: this.failure(call) };
    }
    return this.failed.value;
  }

  private failure(call: Call | undefined): Failed | null {
    const node = call?.failure?.node ?? -1;
    if (
      !call ||
      node < 0 ||
      !this.scene.has(node) ||
      !call.roots.some((root) => this.scene.has(root))
    )
      return null;
    const route = this.graph.route(call.roots, node);
    const edges = new Set(
      route.slice(1).map((id, i) => `${this.scene.boxOf(id)}>${this.scene.boxOf(route[i])}`),
    );
    const by = this.graph.node(node).freedBy;
    return { node, words: by ? `freed by backward ${by}` : "", edges };
  }

  /** Nodes that a filter lets through. */
  private shown(): ((node: GraphNode) => boolean) | null {
    const { filter, line, time } = this;
    if (filter === null && !line) return null;
    return (node) =>
      (filter === null || stateAt(node, time) === filter) &&
      (!line || node.places.some((place) => place.file === line.file && place.line === line.line));
  }

  look(clip: Bounds, scale: number, colours: Colours): Look {
    const { time, selected, hover, marked, beside } = this;
    return {
      time,
      selected,
      hover,
      marked,
      beside,
      clip,
      scale,
      colours,
      shown: this.shown(),
      failed: this.failedNow(),
    };
  }

  draw() {
    const [width, height] = this.size;
    const context = sharpen(this.canvas, width, height);
    const { x, y, k } = this.camera;
    context.translate(x, y);
    context.scale(k, k);
    paint(
      new CanvasPen(context),
      this.scene,
      this.look(this.camera.clip(width, height), k, this.host.colours),
    );
    drawMap(this);
  }

  setTime(time: number) {
    this.time = Math.max(this.subject.from, Math.min(this.subject.to, Math.round(time)));
    drawLegend(this);
    this.redraw();
    this.host.changed(this, "time");
  }

  setFilter(filter: State | null, line: Place | null = null) {
    [this.filter, this.line] = [filter, line];
    drawLegend(this);
    this.redraw();
  }

  select(id: string | null, beside: number[] = []) {
    this.selected = id;
    this.beside = beside.length ? new Set(beside) : null;
    this.redraw();
    this.host.changed(this, "selection");
  }

  toggle(group: number) {
    const { open } = this.scene;
    if (!open.delete(group)) open.add(group);
    return this.relayout(`g${group}`);
  }

  async foldAll() {
    this.scene.open.clear();
    this.select(null);
    await this.relayout();
    this.fit();
  }

  async openAll() {
    this.scene.openAll();
    await this.relayout();
    this.fit();
  }

  fit(only?: string[], most?: number) {
    this.framing = () => this.fit(only, most);
    const items = (only ?? [])
      .map((id) => this.scene.byId.get(id))
      .filter((item) => item !== undefined);
    const bounds: Bounds = items.length
      ? [
          Math.min(...items.map((i) => i.x)),
          Math.min(...items.map((i) => i.y)),
          Math.max(...items.map((i) => i.x + i.width)),
          Math.max(...items.map((i) => i.y + i.height)),
        ]
      : [0, 0, this.scene.width, this.scene.height];
    this.camera.fit(bounds, ...this.size, most);
    this.redraw();
  }

  /** Readable rather than complete: when all of it would be too small, the newest open group from its top. */
  home() {
    this.fit();
    this.framing = () => this.home();
    const { camera, scene } = this;
    if (camera.k >= (this.extent.operations.length <= SMALL ? READABLE_SMALL : READABLE)) return;
    const [width, height] = this.size;
    const failed = this.failedNow();
    if (failed) return this.lookAt(this.scene.boxOf(failed.node), 0.8);
    const open =
      scene.items.filter((item) => item.open && item.depth === 0).pop() ?? scene.items[0];
    if (!open) return;
    camera.k = Math.min(0.85, Math.max(0.72, (width - 36) / scene.width));
    camera.x =
      scene.width * camera.k < width - 30
        ? (width - scene.width * camera.k) / 2
        : Math.min(18 - open.x * camera.k, width - 24 - (open.x + open.width) * camera.k);
    const below = height - 14 - scene.height * camera.k; // no empty room below the last group
    camera.y = Math.max(14 - open.y * camera.k, Math.min(14, below));
    this.redraw();
  }

  focus(id: string, k = Math.max(this.camera.k, 0.6)) {
    this.framing = null;
    this.lookAt(id, k);
  }

  private lookAt(id: string, k: number) {
    const item = this.scene.byId.get(id);
    if (!item) return;
    this.camera.k = k;
    const [width, height] = this.size;
    this.camera.centre(
      item.x + item.width / 2,
      item.y + Math.min(item.height, 60) / 2,
      width,
      height,
    );
    if (this.scene.width * k < width - 30) this.camera.x = (width - this.scene.width * k) / 2;
    this.redraw();
  }

  /** Scrolls only when an item is not in sight. */
  bringIntoSight(item: Item) {
    const { x, y, k } = this.camera;
    const [width, height] = this.size;
    const [left, top] = [item.x * k + x, item.y * k + y];
    const inside =
      left >= 0 &&
      top >= 0 &&
      left + Math.min(item.width * k, width) <= width &&
      top + Math.min(item.height * k, 80) <= height;
    if (!inside || k < 0.3) this.focus(item.id);
  }

  /** Opens what is around a node, selects it and looks at it. */
  async goTo(id: number) {
    const node = this.graph.node(id);
    if (!this.scene.has(id)) return;
    let target = `n${id}`;
    if (node.leaf) {
      const user =
        node.outputs.find(
          (output) => this.scene.has(output) && this.graph.node(output).born <= this.time,
        ) ?? node.outputs.find((output) => this.scene.has(output));
      if (user === undefined) return;
      this.scene.reveal(this.graph.node(user).group);
      target = `l${id}@${this.graph.node(user).group}`;
      if (this.scene.has(user)) await this.relayout();
      if (!this.scene.byId.has(target)) target += `.${user}`;
    } else this.scene.reveal(node.group);
    await this.relayout();
    this.arrive(target);
  }

  private arrive(id: string) {
    const item = this.scene.byId.get(id);
    if (item) this.bringIntoSight(item);
    this.select(id);
  }

  async goToGroup(group: number) {
    this.scene.reveal(this.graph.recording.groups[group].parent);
    await this.relayout();
    this.arrive(`g${group}`);
  }

  /** Several nodes at a moment: opens what is around them and puts them into the middle. */
  async showNodes(ids: number[], time: number) {
    await this.opened;
    const here = ids.filter((id) => this.scene.has(id));
    if (!here.length) return;
    this.setTime(time);
    for (const id of here.slice(0, MOST_SHOWN)) this.scene.reveal(this.graph.node(id).group);
    await this.relayout();
    const boxes = [...new Set(here.slice(0, MOST_SHOWN).map((id) => this.scene.boxOf(id)))];
    // as many of them as can be read, at least the first
    for (let some = boxes.length; some > 0; some--) {
      this.fit(boxes.slice(0, some), 1);
      if (this.camera.k >= READABLE_SMALL) break;
    }
    this.select(boxes[0], here);
  }

  /** The failing backward's way, at its end. */
  async showFailure() {
    const call = this.graph.recording.calls.find((c) => c.failure);
    const node = call?.failure?.node ?? -1;
    if (!call || node < 0) return;
    this.setTime(call.end);
    if (this.extent.operations.length > SMALL) this.scene.open.clear();
    this.scene.reveal(this.graph.node(node).group);
    await this.relayout();
    this.select(null);
    const boxes = [
      ...new Set(this.graph.route(call.roots, node).map((id) => this.scene.boxOf(id))),
    ];
    this.fit(boxes.slice(-4), 1);
    if (this.camera.k < 0.55) this.focus(this.scene.boxOf(node), 0.8);
  }

  /** What a screen reader says of a box. */
  say(item: Item): string {
    if (item.node < 0) {
      const { name, type } = this.graph.recording.groups[item.group];
      return `group ${name} ${type}, ${count(item.ids.length, "node")}, ${item.open ? "open" : "folded"}`;
    }
    const node = this.graph.node(item.node);
    return `${node.leaf ? node.label || "leaf" : node.name}, ${LOOKS[stateAt(node, this.time)].word}, ${node.shape}`;
  }
}
