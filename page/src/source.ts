/** Lines of the program, with what happened at them. */
import { escape } from "./format";
import type { Graph } from "./graph";
import type { Place } from "./recording";

export interface Spot {
  place: Place | null | undefined;
  kind: "created" | "freed" | "error";
  words: string;
}

const MARK = { created: "└", freed: "└", error: "^" };

function byLine(spots: Spot[]): Map<number, Spot[]> {
  const lines = new Map<number, Spot[]>();
  for (const spot of spots)
    lines.set(spot.place!.line, [...(lines.get(spot.place!.line) ?? []), spot]);
  return new Map([...lines].sort((a, b) => a[0] - b[0]));
}

/** The file that the recording is named after: its name need not be said again. */
export function isMain(graph: Graph, file: number): boolean {
  const { files, title } = graph.recording;
  return files.length === 1 || files[file]?.name.split(/[\\/]/).pop() === title;
}

function oneFile(graph: Graph, file: number, spots: Spot[]): string {
  const lines = byLine(spots);
  const text = (line: number) => graph.line({ file, line });
  const margin = Math.min(...[...lines.keys()].map((line) => text(line).search(/\S|$/)));
  let out = "";
  let last = 0;
  for (const [line, here] of lines) {
    if (last && line > last + 1) out += `<div class="dots"><i></i>⋯</div>`;
    const shown = text(line).slice(margin);
    const lead = " ".repeat(shown.length - shown.trimStart().length);
    out += `<div class="m ${here[here.length - 1].kind}"><i>${line}</i>${escape(shown) || "<em>the text is not recorded</em>"}</div>`;
    for (const spot of here)
      out += `<div><i></i>${lead}<em class="${spot.kind}">${MARK[spot.kind]} ${escape(spot.words)}</em></div>`;
    last = line;
  }
  const name = isMain(graph, file)
    ? ""
    : `<div class="file">${escape(graph.recording.files[file]?.name ?? "")}</div>`;
  return `${name}<div class="source" tabindex="0" role="group" aria-label="Source">${out}</div>`;
}

export function source(graph: Graph, spots: Spot[]): string {
  const files = new Map<number, Spot[]>();
  for (const spot of spots)
    if (spot.place) files.set(spot.place.file, [...(files.get(spot.place.file) ?? []), spot]);
  return [...files].map(([file, here]) => oneFile(graph, file, here)).join("");
}
