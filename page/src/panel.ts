/** The panel beside the picture: details of what is selected, or the story of all; and the outline. */
import type { App } from "./app";
import { comparison } from "./compare";
import { groupDetails, nodeDetails } from "./details";
import { Outline } from "./outline";
import type { Pane } from "./pane";
import { story } from "./story";

export class Panel {
  private readonly body: HTMLElement;
  private readonly outline: Outline;
  private tab: "details" | "outline" = "details";

  constructor(
    private app: App,
    element: HTMLElement,
  ) {
    element.innerHTML =
      `<div class="tabs" role="tablist" aria-label="Panel"><button role="tab" id="tab-details" aria-controls="panel-details" aria-selected="true">Details</button>` +
      `<button role="tab" id="tab-outline" aria-controls="panel-outline" aria-selected="false" tabindex="-1">Outline</button></div>` +
      `<div id="panel-details" role="tabpanel" aria-labelledby="tab-details" tabindex="0"></div><div id="panel-outline" role="tabpanel" aria-labelledby="tab-outline" hidden></div>`;
    this.body = element.querySelector<HTMLElement>("#panel-details")!;
    this.outline = new Outline(app, element.querySelector<HTMLElement>("#panel-outline")!);
    this.body.addEventListener("click", (event) => this.click(event.target as HTMLElement));
    for (const name of ["details", "outline"] as const) {
      const tab = element.querySelector<HTMLElement>(`#tab-${name}`)!;
      tab.addEventListener("click", () => this.show(name));
      tab.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        event.stopPropagation();
        const other = name === "details" ? "outline" : "details";
        this.show(other);
        document.getElementById(`tab-${other}`)!.focus();
      });
    }
  }

  show(name: "details" | "outline") {
    this.tab = name;
    for (const each of ["details", "outline"]) {
      const tab = document.getElementById(`tab-${each}`)!;
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
      document.getElementById(`panel-${each}`)!.hidden = each !== name;
    }
    this.update();
  }

  toggle() {
    this.show(this.tab === "details" ? "outline" : "details");
    if (this.tab === "outline") this.outline.focus();
  }

  update() {
    if (this.tab === "outline") return this.outline.update();
    const pane = this.app.active;
    const item = pane.selected ? pane.scene.byId.get(pane.selected) : undefined;
    const focused = (document.activeElement as HTMLElement | null)
      ?.closest("#panel-details [data-line]")
      ?.getAttribute("data-line");
    if (item)
      this.body.innerHTML =
        this.back() +
        (item.node >= 0 ? nodeDetails(pane, pane.graph.node(item.node)) : groupDetails(pane, item));
    else if (this.app.panes.length === 2)
      this.body.innerHTML = comparison(this.app.panes[0], this.app.panes[1]);
    else this.body.innerHTML = story(pane);
    if (focused) this.body.querySelector<HTMLElement>(`[data-line="${focused}"]`)?.focus();
  }

  private back(): string {
    return `<button class="link back" data-back>‹ ${this.app.panes.length === 2 ? "side by side" : "all"}</button>`;
  }

  private click(target: HTMLElement) {
    const button = target.closest<HTMLElement>("button");
    if (!button) return;
    const side = button.closest<HTMLElement>("[data-pane]")?.dataset.pane;
    const pane: Pane = side ? this.app.panes[Number(side)] : this.app.active;
    this.app.activate(pane);
    const { node, time, toggle, line } = button.dataset;
    if (node) void pane.goTo(Number(node));
    else if (time) pane.setTime(Number(time));
    else if (toggle) void pane.toggle(Number(toggle));
    else if (line) this.line(pane, line);
    else if ("failure" in button.dataset) void pane.showFailure();
    else if ("back" in button.dataset) pane.select(null);
  }

  private line(pane: Pane, key: string) {
    const [file, line] = key.split(":").map(Number);
    const on = pane.line?.file === file && pane.line.line === line;
    pane.setFilter(null, on ? null : { file, line });
    this.update();
  }
}
