/** The states and how many nodes are in each: the key to the picture, and a filter. */
import { number } from "./format";
import { glyphHtml } from "./glyphs";
import type { Pane } from "./pane";
import { COUNTED, countStates, LOOKS, State } from "./state";

const ALWAYS: State[] = [State.Created, State.Retained, State.Freed, State.Passed];

export function drawLegend(pane: Pane) {
  const counts = countStates(pane.extent.operations, pane.time);
  const ever = (state: State) => counts[state] > 0 || ALWAYS.includes(state);
  const button = (state: State) =>
    `<button data-state="${state}" aria-pressed="${pane.filter === state}" class="${counts[state] ? "" : "zero"}" title="${LOOKS[state].word}: ${LOOKS[state].meaning}. Click to see only these.">` +
    `${glyphHtml(state)}<span>${LOOKS[state].word}</span> <b>${number(counts[state])}</b></button>`;
  let legend = pane.bar.querySelector<HTMLElement>(".legend");
  if (!legend) {
    legend = document.createElement("div");
    legend.className = "legend";
    legend.setAttribute("role", "group");
    legend.setAttribute("aria-label", "States of nodes");
    pane.bar.append(legend);
    legend.addEventListener("click", (event) => {
      const chosen = (event.target as HTMLElement).closest<HTMLElement>("button[data-state]");
      if (!chosen) return;
      const state = Number(chosen.dataset.state) as State;
      pane.setFilter(pane.filter === state ? null : state);
      legend!.querySelector<HTMLElement>(`[data-state="${state}"]`)?.focus();
    });
  }
  const line = pane.line ? `<button data-clear class="on">line ${pane.line.line} ✕</button>` : "";
  legend.innerHTML = COUNTED.filter(ever).map(button).join("") + line;
  legend
    .querySelector<HTMLElement>("[data-clear]")
    ?.addEventListener("click", () => pane.setFilter(null));
}
