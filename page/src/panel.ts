/** The panel beside the picture: details of what is selected, or the story of all; and the outline. */
import type { App } from "./app";
import { comparison } from "./compare";
import { groupDetails, nodeDetails } from "./details";
import { Outline } from "./outline";
import type { Pane } from "./pane";
import { story } from "./story";

type Tab = "report" | "details" | "outline";

export class Panel {
  private readonly body: HTMLElement;
  private readonly outline: Outline;
  private readonly names: Tab[];
  private tab: Tab = "details";

  constructor(
    private app: App,
    element: HTMLElement,
    report: HTMLElement | null,
  ) {
    this.names = report ? ["report", "details", "outline"] : ["details", "outline"];
    element.innerHTML =
      `<div class="tabs" role="tablist" aria-label="Panel">${this.names.map(tabHtml).join("")}</div>` +
      this.names.map(panelHtml).join("");
    if (report) element.querySelector("#panel-report")!.append(report);
    this.body = element.querySelector<HTMLElement>("#panel-details")!;
    this.outline = new Outline(app, element.querySelector<HTMLElement>("#panel-outline")!);
    this.body.addEventListener("click", (event) => this.click(event.target as HTMLElement));
    this.names.forEach((name, i) => {
      const tab = element.querySelector<HTMLElement>(`#tab-${name}`)!;
      tab.addEventListener("click", () => this.show(name));
      tab.addEventListener("keydown", (event) => {
        const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
        if (!step) return;
        event.stopPropagation();
        const other = this.names[(i + step + this.names.length) % this.names.length];
        this.show(other);
        document.getElementById(`tab-${other}`)!.focus();
      });
    });
    this.mark(this.names[0]);
  }

  /** The one that is on top, without anything written anew. */
  private mark(name: Tab) {
    this.tab = name;
    document.body.dataset.tab = name; // on a narrow screen the report has all of it
    for (const each of this.names) {
      const tab = document.getElementById(`tab-${each}`)!;
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
      document.getElementById(`panel-${each}`)!.hidden = each !== name;
    }
  }

  show(name: Tab) {
    this.mark(name);
    this.update();
  }

  toggle() {
    this.show(this.tab === "outline" ? "details" : "outline");
    if (this.tab === "outline") this.outline.focus();
  }

  update() {
    if (this.tab === "report") return;
    if (this.tab === "outline") return this.outline.update();
    const pane = this.app.active;
    const item = pane.selected ? pane.scene.byId.get(pane.selected) : undefined;
    const focused = (document.activeElement as HTMLElement | null)
      ?.closest("#panel-details [data-line]")
      ?.getAttribute("data-line");
    if (item)
      this.body.innerHTML =
        this.back() +
        (item.node >= 0
          ? nodeDetails(pane, pane.graph.node(item.node), this.app.report?.mentions(item.node))
          : groupDetails(pane, item));
    else if (this.app.panes.length === 2)
      this.body.innerHTML = comparison(this.app.panes[0], this.app.panes[1]);
    else this.body.innerHTML = story(pane);
    if (focused) this.body.querySelector<HTMLElement>(`[data-line="${focused}"]`)?.focus();
  }

  private back(): string {
    const all = this.app.panes.length === 2 ? "side by side" : this.app.report ? "report" : "all";
    return `<button class="link back" data-back>‹ ${all}</button>`;
  }

  private click(target: HTMLElement) {
    const button = target.closest<HTMLElement>("button");
    if (!button) return;
    const side = button.closest<HTMLElement>("[data-pane]")?.dataset.pane;
    const pane: Pane = side ? this.app.panes[Number(side)] : this.app.active;
    this.app.activate(pane);
    const { node, time, toggle, line, place } = button.dataset;
    if (node) void pane.goTo(Number(node));
    else if (time) pane.setTime(Number(time));
    else if (toggle) void pane.toggle(Number(toggle));
    else if (line) this.line(pane, line);
    else if ("failure" in button.dataset) void pane.showFailure();
    else if (place) this.app.showInReport(place);
    else if ("back" in button.dataset) this.goBack(pane);
  }

  private goBack(pane: Pane) {
    pane.select(null);
    if (this.app.report && this.app.panes.length === 1) this.show("report");
  }

  private line(pane: Pane, key: string) {
    const [file, line] = key.split(":").map(Number);
    const on = pane.line?.file === file && pane.line.line === line;
    pane.setFilter(null, on ? null : { file, line });
    this.update();
  }
}

/** On a narrow screen the picture is behind the tab of details, and that is what one looks for. */
const WORDS: Record<Tab, string> = {
  report: "Report",
  details: `<span class="wide">Details</span><span class="narrow">Graph</span>`,
  outline: "Outline",
};

const tabHtml = (name: Tab) =>
  `<button role="tab" id="tab-${name}" aria-controls="panel-${name}">${WORDS[name]}</button>`;

const panelHtml = (name: Tab) =>
  `<div id="panel-${name}" role="tabpanel" aria-labelledby="tab-${name}"${name === "outline" ? "" : ` tabindex="0"`}></div>`;
