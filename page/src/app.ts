/** The page as a whole: one or two panes, their time lines, the panel, and what joins them. */
import { readAddress, writeAddress, type View } from "./address";
import { difference, firstPair, type Choice } from "./compare";
import { saveSvg, usePrint } from "./export";
import { escape, number } from "./format";
import { Graph } from "./graph";
import { KEYS, useKeyboard } from "./keyboard";
import { Pane, type Host } from "./pane";
import { Panel } from "./panel";
import { unpack, type Packed } from "./recording";
import { Report, type Pin } from "./report";
import { Search } from "./search";
import { subjects } from "./subject";
import { followSystem, isDark, readColours, setDark, type Colours } from "./theme";
import { Timeline } from "./timeline";

const NARROW = "(max-width: 45em)"; // as in page.css

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

export class App implements Host {
  colours: Colours = readColours();
  panes: Pane[] = [];
  active!: Pane;
  readonly graphs: Graph[];
  readonly search: Search;
  private readonly panel: Panel;
  private readonly timelines = new Map<Pane, Timeline>();
  private linked = true;
  private linking = false;
  private arranging = false; // panes are being filled: nothing is told to the other parts
  private refreshing = false;
  private written = 0;

  readonly report: Report | null = null;
  private placing = false; // a place of the report is being shown: the panel stays as it is

  constructor(recordings: Packed[], report: HTMLElement | null) {
    this.graphs = recordings.map((packed) => new Graph(unpack(packed)));
    if (report) {
      this.report = new Report(this, report);
      document.body.classList.add("with-report");
      element("panes").before(element("panel"));
    }
    this.panel = new Panel(this, element("panel"), report);
    this.search = new Search(this, element<HTMLInputElement>("find"), element("hits"));
    this.tabs();
    this.tools();
    useKeyboard(this);
    usePrint(() => this.panes, element("paper"));
    addEventListener("hashchange", () => void this.restore());
  }

  async start() {
    followSystem((dark) => this.setTheme(dark));
    if (!(await this.restore())) await this.arrange([{ recording: 0, subject: "all" }]);
  }

  // ---- what joins the parts

  changed(pane: Pane, what: "time" | "selection" | "scene") {
    if (this.arranging) return;
    if (what === "time") this.link(pane);
    this.timelineOf(pane).update();
    if (what === "selection" && pane.selected && this.report && !this.placing) this.showDetails();
    else if (pane === this.active || this.panes.length === 2) this.refresh(what === "time");
    this.remember();
  }

  /** While one slides, the panel follows once for each picture that the screen shows. */
  private refresh(later: boolean) {
    if (!later) return this.panel.update();
    if (this.refreshing) return;
    this.refreshing = true;
    requestAnimationFrame(() => {
      this.refreshing = false;
      if (!this.arranging) this.panel.update();
    });
  }

  activate(pane: Pane) {
    if (this.active === pane) return;
    this.active = pane;
    this.markActive();
    this.markTab();
    this.panel.update();
  }

  /** The pane whose time line is to be seen where there is room for one only. */
  private markActive() {
    for (const each of this.panes) {
      const active = each === this.active && this.panes.length > 1;
      each.element.classList.toggle("active", active);
      this.timelineOf(each).element.classList.toggle("active", active);
    }
    document.body.classList.toggle("linked", this.linked);
  }

  timelineOf(pane: Pane): Timeline {
    let timeline = this.timelines.get(pane);
    if (!timeline) this.timelines.set(pane, (timeline = new Timeline(pane)));
    return timeline;
  }

  /** Side by side, the other pane goes to the same part of its own time. */
  private link(pane: Pane) {
    const other = this.panes.find((each) => each !== pane);
    if (!other?.scene || !this.linked || this.linking) return;
    this.linking = true;
    const part = (pane.time - pane.subject.from) / Math.max(1, pane.subject.to - pane.subject.from);
    other.setTime(other.subject.from + part * (other.subject.to - other.subject.from));
    this.linking = false;
  }

  // ---- the report

  get pins(): Pin[] {
    return this.report?.pins ?? [];
  }

  /** The nodes that a place of the report is about, at its moment. */
  async showPlace(nodes: number[], time: number) {
    if (this.panes.length > 1 || this.active.subject.key !== "all")
      await this.arrange([{ recording: 0, subject: "all" }]);
    if (matchMedia(NARROW).matches) {
      this.panel.show("details"); // the report has hidden the picture
      await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
    }
    this.placing = true;
    this.active.marked = this.report!.flags();
    await this.active.showNodes(nodes, time);
    this.placing = false;
    this.timelineOf(this.active).draw();
  }

  showInReport(place: string) {
    this.panel.show("report");
    this.report?.find(place);
  }

  showReport() {
    if (this.report) this.panel.show("report");
  }

  // ---- one picture or two

  async arrange(choices: Choice[]) {
    while (this.panes.length < choices.length)
      this.panes.push(new Pane(this, "ab"[this.panes.length]));
    this.panes.length = choices.length;
    element("panes").replaceChildren(...this.panes.map((pane) => pane.element));
    element("times").replaceChildren(...this.panes.map((pane) => this.timelineOf(pane).element));
    document.body.classList.toggle("two", choices.length === 2);
    element("compare").setAttribute("aria-pressed", String(choices.length === 2));
    this.active = this.panes[0];
    this.arranging = true;
    for (const [i, choice] of choices.entries()) await this.put(this.panes[i], choice);
    this.afterChoice();
  }

  private async put(pane: Pane, { recording, subject }: Choice) {
    this.arranging = true;
    pane.show(this.graphs[recording], recording, subject);
    this.chooser(pane);
    this.timelineOf(pane).update(); // before the picture is fitted into the room that is left
    await pane.open();
  }

  private afterChoice() {
    this.arranging = false;
    const [a, b] = this.panes;
    const found = b ? difference(a, b) : null;
    this.panes.forEach((pane, i) => {
      pane.marked = found
        ? new Map([...found.only[i]].map((id) => [id, "+"]))
        : (this.report?.flags() ?? null);
      pane.redraw();
      this.timelineOf(pane).update();
    });
    this.markActive();
    if (!this.report) document.title = `${this.active.graph.recording.title}: life of its graph`;
    this.markTab();
    this.panel.update();
    this.remember();
  }

  /** What a pane shows can be chosen where there is a choice. */
  private chooser(pane: Pane) {
    pane.bar.querySelector("select")?.remove();
    const choices = this.graphs.flatMap((graph, recording) =>
      subjects(graph).map((subject) => ({
        recording,
        subject,
        title:
          this.graphs.length > 1 ? `${graph.recording.title}: ${subject.title}` : subject.title,
      })),
    );
    if (choices.length < 2) return;
    const select = document.createElement("select");
    select.setAttribute("aria-label", "What this picture shows");
    select.innerHTML = choices
      .map(
        ({ recording, subject, title }) =>
          `<option value="${recording},${subject.key}">${escape(title)}</option>`,
      )
      .join("");
    select.value = `${pane.recording},${pane.subject.key}`;
    select.addEventListener("change", async () => {
      const [recording, subject] = select.value.split(",");
      await this.put(pane, { recording: Number(recording), subject });
      this.afterChoice();
      pane.bar.querySelector("select")?.focus();
    });
    pane.bar.prepend(select);
  }

  async toggleCompare() {
    if (this.arranging) return;
    const current = this.active.recording;
    await this.arrange(
      this.panes.length === 2
        ? [{ recording: current, subject: "all" }]
        : firstPair(this.graphs, current),
    );
    this.announce(
      this.panes.length === 2
        ? `Side by side: ${this.panes.map((pane) => pane.subject.title).join(" and ")}`
        : "One picture",
    );
  }

  // ---- the header

  private tabs() {
    const tabs = element("tabs");
    tabs.hidden = this.graphs.length < 2;
    tabs.innerHTML = this.graphs
      .map(
        (graph, i) =>
          `<button data-index="${i}">${escape(graph.recording.title)} <small>${number(graph.operations.length)}</small></button>`,
      )
      .join("");
    tabs.addEventListener("click", (event) => {
      const index = (event.target as HTMLElement).closest<HTMLElement>("button")?.dataset.index;
      if (index) void this.arrange([{ recording: Number(index), subject: "all" }]);
    });
    if (this.report) element("tool").textContent = "doctor";
    element("title").textContent = this.graphs.length < 2 ? this.graphs[0].recording.title : "";
  }

  private markTab() {
    element("tabs")
      .querySelectorAll("button")
      .forEach((tab, i) =>
        tab.setAttribute("aria-pressed", String(this.panes.some((pane) => pane.recording === i))),
      );
  }

  private tools() {
    const on = (id: string, does: () => unknown) =>
      element(id).addEventListener("click", () => void does());
    on("fold", () => this.active.foldAll());
    on("open", () => this.active.openAll());
    on("fit", () => this.panes.forEach((pane) => pane.fit()));
    on("compare", () => this.toggleCompare());
    on("svg", () => this.saveSvg());
    on("theme", () => this.toggleTheme());
    on("keys", () => this.help());
    on("link", () => {
      this.linked = !this.linked;
      element("link").setAttribute("aria-pressed", String(this.linked));
      this.markActive();
      if (this.linked) this.link(this.active);
    });
  }

  saveSvg() {
    saveSvg(this.active, this.colours);
  }

  setTheme(dark: boolean) {
    this.colours = setDark(dark);
    for (const pane of this.panes) {
      pane.redraw();
      this.timelineOf(pane).draw();
    }
  }

  toggleTheme() {
    this.setTheme(!isDark());
  }

  help() {
    const dialog = element<HTMLDialogElement>("help");
    element("keylist").innerHTML = KEYS.map(
      ([keys, does]) => `<dt><kbd>${escape(keys)}</kbd></dt><dd>${does}</dd>`,
    ).join("");
    if (!dialog.open) dialog.showModal();
  }

  toggleOutline() {
    this.panel.toggle();
  }

  showDetails() {
    this.panel.show("details");
  }

  clear() {
    this.active.setFilter(null);
    this.active.select(null);
    this.showReport();
  }

  announce(words: string) {
    element("say").textContent = words;
  }

  // ---- the address

  private remember() {
    clearTimeout(this.written);
    this.written = window.setTimeout(() => {
      if (!this.panes.every((pane) => pane.scene)) return;
      try {
        history.replaceState(null, "", writeAddress(this.panes));
      } catch {
        // a page inside a frame without an address of its own, as in a notebook, has none to keep
      }
    }, 150);
  }

  private async restore(): Promise<boolean> {
    const views = readAddress(location.hash).filter((view) => view.recording < this.graphs.length);
    if (!views.length) return false;
    await this.arrange(views);
    this.linking = this.placing = true;
    for (const [i, view] of views.entries()) await this.apply(this.panes[i], view);
    this.linking = this.placing = false;
    return true;
  }

  private async apply(pane: Pane, { time, selected, open }: View) {
    const groups = pane.graph.recording.groups.length;
    if (open !== null) {
      pane.scene.open.clear();
      if (open === "all") pane.scene.openAll();
      else open.filter((group) => group < groups).forEach((group) => pane.scene.open.add(group));
      await pane.relayout();
    }
    if (!Number.isNaN(time)) pane.setTime(time);
    if (open !== null) pane.home();
    const item = selected ? pane.scene.byId.get(selected) : undefined;
    if (!item) return;
    pane.select(item.id);
    pane.bringIntoSight(item);
  }
}
