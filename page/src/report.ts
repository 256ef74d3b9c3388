/** A report beside the graph: its places are links that show nodes at a moment, and nodes know their places. */
import type { App } from "./app";
import { escape } from "./format";

interface Spot {
  /** Of the element that shows it: "place-1-2". */
  id: string;
  finding: number;
  order: string;
  label: string;
  cause: string;
  nodes: number[];
  time: number;
}

export interface Pin {
  time: number;
  text: string;
}

const FEW = 2; // nodes that all get the number of their place; of more, only the first

function spotOf(link: HTMLElement): Spot {
  const item = link.closest("li")!;
  const section = link.closest<HTMLElement>(".finding")!;
  return {
    id: item.id,
    finding: Number(section.id.replace("finding-", "")),
    order: link.querySelector(".pin")!.textContent!,
    label: link.querySelector("span b")!.textContent!,
    cause: section.dataset.cause!,
    nodes: link.dataset.nodes!.split(" ").map(Number),
    time: Number(link.dataset.time),
  };
}

export class Report {
  /** The finding whose places are marked in the picture. */
  private current = 1;
  private readonly spots: Spot[];
  pins: Pin[] = [];

  constructor(
    private app: App,
    readonly element: HTMLElement,
  ) {
    this.spots = [...element.querySelectorAll<HTMLElement>("a.goto")].map(spotOf);
    this.current = this.spots[0]?.finding ?? 1;
    this.pins = this.pinned();
    element.addEventListener("click", (event) => {
      const link = (event.target as HTMLElement).closest<HTMLElement>("a.goto");
      if (!link) return;
      event.preventDefault();
      void this.goTo(link.closest("li")!.id);
    });
  }

  private ofCurrent(): Spot[] {
    return this.spots.filter((spot) => spot.finding === this.current);
  }

  private pinned(): Pin[] {
    return this.ofCurrent().map(({ time, order }) => ({ time, text: order }));
  }

  /** The numbers of places, by the nodes that they are about. */
  flags(): Map<number, string> {
    const flags = new Map<number, string>();
    for (const { nodes, order } of this.ofCurrent())
      for (const id of nodes.length > FEW ? nodes.slice(0, 1) : nodes)
        flags.set(id, flags.has(id) ? `${flags.get(id)} ${order}` : order);
    return flags;
  }

  /** What the panel says of a node that a finding is about. */
  mentions(node: number): string {
    const rows = this.spots
      .filter((spot) => spot.nodes.includes(node))
      .map(
        ({ id, finding, order, label, cause }) =>
          `<li><button class="link" data-place="${id}">${order} ${escape(label)}</button> <span class="soft">finding ${finding}: ${escape(cause)}</span></li>`,
      );
    return rows.length ? `<h3>In the report</h3><ul>${rows.join("")}</ul>` : "";
  }

  /** The place with a number of the finding that is looked at. */
  async goToNumber(order: string) {
    const spot = this.ofCurrent().find((each) => each.order === order);
    if (spot) await this.goTo(spot.id);
  }

  /** A place's nodes in the picture, at its moment. */
  private async goTo(id: string) {
    const spot = this.spots.find((each) => each.id === id);
    if (!spot) return;
    this.current = spot.finding;
    this.pins = this.pinned();
    this.mark(id);
    await this.app.showPlace(spot.nodes, spot.time);
    this.app.announce(`${spot.order} ${spot.label}: shown in the graph`);
  }

  /** A place in the text. */
  find(id: string) {
    this.mark(id);
    const item = document.getElementById(id);
    item?.scrollIntoView({ block: "nearest" });
    item?.querySelector<HTMLElement>("a.goto")?.focus({ preventScroll: true });
  }

  private mark(id: string) {
    for (const item of this.element.querySelectorAll("li.here")) item.classList.remove("here");
    document.getElementById(id)?.classList.add("here");
  }
}
