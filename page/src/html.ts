/** Small pieces of the panel. What a click on them does is in `panel.ts`. */
import { escape } from "./format";
import { glyphHtml } from "./glyphs";
import type { Graph } from "./graph";
import { LOOKS, type State } from "./state";

export function nodeLink(graph: Graph, id: number): string {
  const node = graph.node(id);
  return `<button class="link" data-node="${id}">${escape(node.leaf ? node.label || "leaf" : node.name)}</button>`;
}

export function timeLink(time: number, words: string): string {
  return `<button class="link" data-time="${time}">${escape(words)}</button>`;
}

export function chip(state: State): string {
  const { colour, word, meaning } = LOOKS[state];
  return `<span class="chip ${colour}" title="${meaning}">${glyphHtml(state)}${word}</span>`;
}

export const section = (title: string, body: string) => (body ? `<h3>${title}</h3>${body}` : "");

export function list(items: string[], none: string): string {
  return `<ul>${items.map((item) => `<li>${item}</li>`).join("") || `<li class="soft">${none}</li>`}</ul>`;
}

export function facts(pairs: [name: string, value: string][]): string {
  return `<dl>${pairs.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join("")}</dl>`;
}

/** The last column is set right: it is a number. */
export function table(head: string[], rows: string[][], off = false): string {
  const cells = (row: string[], tag: string) =>
    row.map((cell) => `<${tag}>${cell}</${tag}>`).join("");
  return `<table><tr>${cells(head, "th")}</tr>${rows.map((row) => `<tr class="${off ? "off" : ""}">${cells(row, "td")}</tr>`).join("")}</table>`;
}
