/** The recorded facts, unpacked from the file that `retrograd/graph/schema.py` describes. */

import { divideLevels } from "./parts";

export const FORMAT = 1;

/** "part" is the page's own: a stretch of a level that has too many nodes. */
export type GroupKind = "step" | "module" | "pass" | "part";
type PlaceRow = [file: number, line: number] | null;

export interface Packed {
  title: string;
  library: string;
  library_version: string;
  end: number;
  files: [name: string, text: string][];
  strings: string[];
  chains: number[][];
  node_fields: string[];
  saved_fields: string[];
  nodes: (number | number[] | number[][])[][];
  groups: [name: string, kind: GroupKind, parent: number, type: string][];
  storages: [bytes: number, owner: string][];
  calls: PackedCall[];
  events: { time: number; kind: string; label: string; node: number; place: PlaceRow }[];
  sweeps: [time: number, held: [path: string, node: number][]][];
  cuts: [from: number, to: number][];
  notes: string[];
}

interface PackedCall {
  number: number;
  kind: string;
  start: number;
  end: number;
  roots: number[];
  of: string;
  walked: number;
  retain: boolean;
  how: string;
  place: PlaceRow;
  failure: [message: string, node: number, code: string] | null;
}

export interface Place {
  file: number;
  line: number;
}

export interface SavedValue {
  name: string;
  shape: string;
  dtype: string;
  bytes: number;
  storage: number;
  /** Bytes of the storage that it keeps: more than its own when it is a view. */
  keeps: number;
  /** Whose own memory it is; then it does not count as saved. */
  owner: string;
  preview: string;
}

export interface GraphNode {
  id: number;
  name: string;
  /** The name without "Backward0", or a leaf's short name. */
  op: string;
  shape: string;
  dtype: string;
  group: number;
  places: Place[];
  inputs: number[];
  outputs: number[];
  saved: SavedValue[];
  /** What it keeps for backward; a storage counts once, a leaf's own memory not at all. */
  bytes: number;
  born: number;
  kept: number;
  freed: number;
  freedBy: number;
  cut: number;
  gone: number;
  label: string;
  leaf: boolean;
  unknown: Map<string, string>;
}

export interface Group {
  name: string;
  kind: GroupKind;
  parent: number;
  type: string;
}

export interface Failure {
  message: string;
  node: number;
  code: string;
}

export interface Call {
  number: number;
  kind: string;
  start: number;
  end: number;
  roots: number[];
  of: string;
  walked: number;
  retain: boolean;
  how: string;
  place: Place | null;
  failure: Failure | null;
}

export interface Mark {
  time: number;
  kind: string;
  label: string;
  node: number;
  place: Place | null;
}

export interface Recording {
  title: string;
  library: string;
  libraryVersion: string;
  end: number;
  files: { name: string; lines: string[] }[];
  nodes: GraphNode[];
  groups: Group[];
  storages: [bytes: number, owner: string][];
  calls: Call[];
  events: Mark[];
  sweeps: [time: number, held: [path: string, node: number][]][];
  cuts: [from: number, to: number][];
  notes: string[];
}

const placeOf = (row: PlaceRow): Place | null => (row ? { file: row[0], line: row[1] } : null);

function pairs<T>(flat: number[], make: (a: number, b: number) => T): T[] {
  const out: T[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) out.push(make(flat[i], flat[i + 1]));
  return out;
}

function keptBytes(saved: SavedValue[]): number {
  const seen = new Set<number>();
  let total = 0;
  for (const value of saved) {
    if (value.owner || (value.storage >= 0 && seen.has(value.storage))) continue;
    seen.add(value.storage);
    total += value.keeps;
  }
  return total;
}

/** Reads rows by the names of their columns, so that a column may be added in any place. */
class Rows {
  private columns: Map<string, number>;
  constructor(
    private packed: Packed,
    fields: string[],
  ) {
    this.columns = new Map(fields.map((name, index) => [name, index]));
  }
  cell(row: unknown[], name: string): unknown {
    const column = this.columns.get(name);
    if (column === undefined) throw new Error(`the recording has no field ${name}`);
    return row[column];
  }
  number(row: unknown[], name: string) {
    return this.cell(row, name) as number;
  }
  text(row: unknown[], name: string) {
    return this.packed.strings[this.number(row, name)];
  }
}

function savedValue(packed: Packed, rows: Rows, row: number[]): SavedValue {
  const storage = rows.number(row, "storage");
  const bytes = rows.number(row, "bytes");
  const [keeps, owner] = storage < 0 ? [bytes, ""] : packed.storages[storage];
  const text = (name: string) => rows.text(row, name);
  const [name, shape, dtype, preview] = ["name", "shape", "dtype", "preview"].map(text);
  return { name, shape, dtype, bytes, storage, keeps, owner, preview };
}

function opOf(name: string, leaf: boolean, label: string): string {
  if (leaf) return label.split(".").slice(-2).join(".") || "leaf";
  return name.replace(/Backward\d*$/, "") || name;
}

function unpackNodes(packed: Packed): GraphNode[] {
  const rows = new Rows(packed, packed.node_fields);
  const savedRows = new Rows(packed, packed.saved_fields);
  return packed.nodes.map((row, id) => {
    const [name, shape, dtype, label] = ["name", "shape", "dtype", "label"].map((field) =>
      rows.text(row, field),
    );
    const saved = (rows.cell(row, "saved") as number[][]).map((r) =>
      savedValue(packed, savedRows, r),
    );
    const leaf = rows.number(row, "leaf") === 1;
    const strings = packed.strings;
    return {
      id,
      name,
      shape,
      dtype,
      label,
      saved,
      leaf,
      op: opOf(name, leaf, label),
      group: rows.number(row, "group"),
      places: pairs(packed.chains[rows.number(row, "places")], (file, line) => ({ file, line })),
      inputs: [...new Set(rows.cell(row, "edges") as number[])],
      outputs: [],
      bytes: keptBytes(saved),
      born: rows.number(row, "born"),
      kept: rows.number(row, "kept"),
      freed: rows.number(row, "freed"),
      freedBy: rows.number(row, "freed_by"),
      cut: rows.number(row, "cut"),
      gone: rows.number(row, "gone"),
      unknown: new Map(
        pairs(rows.cell(row, "unknown") as number[], (a, b) => [strings[a], strings[b]]),
      ),
    };
  });
}

function unpackCall(call: PackedCall): Call {
  const failure = call.failure;
  return {
    ...call,
    place: placeOf(call.place),
    failure: failure && { message: failure[0], node: failure[1], code: failure[2] },
  };
}

export function unpack(packed: Packed): Recording {
  const nodes = unpackNodes(packed);
  for (const node of nodes) for (const input of node.inputs) nodes[input].outputs.push(node.id);
  const recording: Recording = {
    title: packed.title,
    library: packed.library,
    libraryVersion: packed.library_version,
    end: Math.max(1, packed.end),
    files: packed.files.map(([name, text]) => ({ name, lines: text.split("\n") })),
    nodes,
    groups: packed.groups.map(([name, kind, parent, type]) => ({
      name,
      kind,
      parent,
      type: type === name ? "" : type,
    })),
    storages: packed.storages,
    calls: packed.calls.map(unpackCall),
    events: packed.events.map((event) => ({ ...event, place: placeOf(event.place) })),
    sweeps: packed.sweeps,
    cuts: packed.cuts,
    notes: packed.notes,
  };
  divideLevels(recording);
  return recording;
}

/** The page carries its recordings as gzip in base64: small, and nothing in it can end a script tag. */
export async function readPage(): Promise<Packed[]> {
  const text = document.getElementById("recording")?.textContent?.trim();
  if (!text) throw new Error("this page has no recording in it");
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const file = JSON.parse(await new Response(stream).text()) as {
    format: number;
    recordings: Packed[];
  };
  if (file.format !== FORMAT)
    throw new Error(`this page reads format ${FORMAT}, not ${file.format}`);
  return file.recordings;
}
