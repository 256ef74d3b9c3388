/** What one sees is in the address after "#": a link shows another person the same. */
import type { Pane } from "./pane";

export interface View {
  recording: number;
  subject: string;
  time: number;
  selected: string | null;
  /** Open groups; null: as at the start. */
  open: number[] | "all" | null;
}

/** Numbers in order, runs of them shortened: 0-3.7.9 */
export function packRuns(numbers: number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const value of sorted) {
    const last = runs[runs.length - 1];
    if (last && value === last[1] + 1) last[1] = value;
    else runs.push([value, value]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(".");
}

export function unpackRuns(text: string): number[] {
  return text.split(".").flatMap((run) => {
    const [from, to = from] = run.split("-").map(Number);
    return Number.isInteger(from) && to >= from && to - from < 1e5
      ? Array.from({ length: to - from + 1 }, (_, i) => from + i)
      : [];
  });
}

function write(pane: Pane): string {
  const groups = pane.graph.recording.groups.length;
  const open = [...pane.scene.open];
  const opened = open.length === groups ? "*" : packRuns(open);
  return [pane.recording, pane.subject.key, pane.time, pane.selected ?? "", opened].join(",");
}

export function writeAddress(panes: Pane[]): string {
  return `#${panes.map((pane, i) => `${"ab"[i]}=${write(pane)}`).join("&")}`;
}

function read(text: string): View | null {
  const [recording, subject = "all", time = "", selected = "", opened] = text
    .replaceAll("%2C", ",")
    .replaceAll("%40", "@")
    .split(",");
  if (!/^\d+$/.test(recording)) return null;
  const open = opened === undefined ? null : opened === "*" ? "all" : unpackRuns(opened);
  return {
    recording: Number(recording),
    subject,
    time: time === "" ? NaN : Number(time),
    selected: selected || null,
    open,
  };
}

export function readAddress(hash: string): View[] {
  const parts = new Map(
    hash
      .replace(/^#/, "")
      .split("&")
      .map((part) => part.split("=", 2) as [string, string]),
  );
  return ["a", "b"].map((name) => read(parts.get(name) ?? "")).filter((view) => view !== null);
}
