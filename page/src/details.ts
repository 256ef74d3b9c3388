/** What the panel tells of the node or the group that is selected. */
import { bytes, count, escape, number } from "./format";
import { chip, facts, list, nodeLink, section, table, timeLink } from "./html";
import type { Pane } from "./pane";
import type { Call, GraphNode } from "./recording";
import type { Item } from "./scene";
import { isMain, source, type Spot } from "./source";
import { countStates, hasValues, LOOKS, State, stateAt } from "./state";

function crumbs(pane: Pane, group: number): string {
  return `<div class="soft">${escape(pane.graph.path(group).join(" › ") || pane.graph.recording.title)}</div>`;
}

function wasFreed(node: GraphNode, time: number): boolean {
  return node.freed > 0 && node.freed <= time;
}

function spotsOf(pane: Pane, node: GraphNode): Spot[] {
  const { graph, time } = pane;
  const spots: Spot[] = [
    {
      place: node.places[0],
      kind: "created",
      words: node.leaf ? "first used here" : "created here",
    },
  ];
  for (const event of graph.recording.events)
    if (event.node === node.id && event.time <= time) {
      if (event.kind === "detach")
        spots.push({ place: event.place, kind: "freed", words: "detached here: gradients stop" });
      if (event.kind === "write")
        spots.push({
          place: event.place,
          kind: "error",
          words: event.label || "written in place here",
        });
    }
  const by = graph.call(node.freedBy);
  if (wasFreed(node, time) && by)
    spots.push({
      place: by.place,
      kind: "freed",
      words: `${hasValues(node) ? "freed" : "passed"} here: ${by.kind} ${by.number}`,
    });
  const failed = failureAt(pane, node);
  if (failed)
    spots.push({
      place: failed.place,
      kind: "error",
      words: `needed again here: ${failed.kind} ${failed.number}`,
    });
  return spots;
}

function failureAt(pane: Pane, node: GraphNode): Call | undefined {
  return pane.graph.recording.calls.find(
    (call) => call.failure?.node === node.id && pane.time >= call.end,
  );
}

function unknown(node: GraphNode, what: string): string {
  const reason = node.unknown.get(what);
  return reason ? `<p class="soft">unknown: ${escape(reason)}</p>` : "";
}

function savedTable(node: GraphNode, time: number): string {
  if (!node.saved.length)
    return (
      unknown(node, "saved") || `<p class="soft">Nothing: its rule needs only the gradient.</p>`
    );
  const rows = node.saved.map((value) => {
    const notes = [
      value.owner ? `is ${value.owner}, not counted` : "",
      !value.owner && value.keeps > value.bytes ? `a view; it keeps ${bytes(value.keeps)}` : "",
      value.storage < 0 ? "unknown: which memory it shares" : "",
    ].filter(Boolean);
    const below = [
      ...notes.map((note) => `<small>${escape(note)}</small>`),
      value.preview ? `<small class="mono">${escape(value.preview)}</small>` : "",
    ].filter(Boolean);
    return [
      [escape(value.name), ...below].join("<br>"),
      escape(value.shape),
      escape(value.dtype),
      bytes(value.bytes),
    ];
  });
  return (
    table(["name", "shape", "dtype", "bytes"], rows, wasFreed(node, time)) + unknown(node, "saved")
  );
}

function whatCallDid(node: GraphNode, call: Call, time: number): string {
  if (call.failure && time >= call.end) {
    return call.failure.node === node.id ? "failed here" : "failed further on";
  }
  const reached = node.freedBy === call.number ? node.freed : call.retain ? node.kept : call.end;
  if (reached > time) return "is on its way to it";
  if (node.freedBy === call.number) {
    return hasValues(node) ? "freed its values" : "passed; it had nothing to free";
  }
  return call.retain ? `kept it (${escape(call.how || "retain_graph=True")})` : "came through";
}

function callsList(pane: Pane, node: GraphNode): string {
  const calls = pane.graph.callsThrough(node).filter((call) => call.start <= pane.time);
  const rows = calls
    .slice(-6)
    .map(
      (call) =>
        `${timeLink(call.end, `${call.kind} ${call.number}`)} ${call.place ? `line ${call.place.line}, ` : ""}${whatCallDid(node, call, pane.time)}`,
    );
  const more =
    calls.length > 6
      ? [`<span class="soft">and ${count(calls.length - 6, "earlier one")}</span>`]
      : [];
  return list([...more, ...rows], "none so far");
}

function holdersList(pane: Pane, node: GraphNode, state: State): string {
  if (state === State.Gone) return list([], "nothing: it was collected");
  if (state === State.Unborn) return list([], "it does not exist yet");
  const { graph } = pane;
  const holders = graph
    .holders(node.id, pane.time)
    .map(
      ({ path, hops, via }) =>
        `<code>${escape(path)}</code> ${hops ? `<span class="soft">through ${count(hops, "node")}, from</span> ${nodeLink(graph, via)}` : `<span class="soft">directly</span>`}`,
    );
  const none = graph.recording.sweeps.length
    ? "no variable that was found: an expression that is still running"
    : "unknown: holders were not looked for";
  const reason = unknown(node, "holders");
  return holders.length || !reason ? list(holders, none) + reason : reason;
}

function edgesOf(pane: Pane, node: GraphNode): string {
  const links = (ids: number[]) =>
    ids
      .slice(0, 8)
      .map((id) => nodeLink(pane.graph, id))
      .join(", ") + (ids.length > 8 ? ` and ${ids.length - 8} more` : "");
  const from = pane.graph.recording.cuts.filter(([, to]) => to === node.id).map(([id]) => id);
  return facts([
    ...(node.inputs.length ? [["inputs", links(node.inputs)] as [string, string]] : []),
    ["used by", links(node.outputs) || "nothing recorded"],
    ...(from.length
      ? [
          [
            "cut off from",
            `${links(from)} <span class="soft">by detach(): no gradient goes there</span>`,
          ] as [string, string],
        ]
      : []),
  ]);
}

function otherUnknowns(node: GraphNode): string {
  const rest = [...node.unknown].filter(([what]) => what !== "saved" && what !== "holders");
  return section(
    "Not visible",
    rest.map(([what, why]) => `<p class="soft">${escape(what)}: ${escape(why)}</p>`).join(""),
  );
}

export function nodeDetails(pane: Pane, node: GraphNode, mentions = ""): string {
  const { time } = pane;
  const state = stateAt(node, time);
  const failed = failureAt(pane, node);
  const called = node.places
    .slice(1)
    .map(({ file, line }) =>
      isMain(pane.graph, file)
        ? `line ${line}`
        : `${escape(pane.graph.recording.files[file].name)}:${line}`,
    )
    .join(", ");
  return [
    crumbs(pane, node.group),
    `<h2>${escape(node.leaf ? node.label || "leaf" : node.name)} ${chip(state)}</h2>`,
    failed
      ? `<p class="bad">Backward ${failed.number} needs the values saved here. They are gone.</p>`
      : "",
    source(pane.graph, spotsOf(pane, node)) ||
      `<p class="soft">unknown: ${escape(node.unknown.get("places") ?? "its line was not recorded")}</p>`,
    called ? `<div class="soft">called from ${called}</div>` : "",
    mentions,
    section(
      "Result",
      facts([
        ["shape", escape(node.shape)],
        ["dtype", escape(node.dtype || "?")],
        ["node", `#${node.id}, made at ${number(node.born)}`],
      ]),
    ),
    node.leaf ? "" : section("Saved for backward", savedTable(node, time)),
    node.leaf ? "" : section("Backward calls that came through", callsList(pane, node)),
    node.leaf ? "" : section("Held by", holdersList(pane, node, state)),
    section("Edges", edgesOf(pane, node)),
    otherUnknowns(node),
  ].join("");
}

/** Operations of a group, those first that keep most. */
function operationsTable(pane: Pane, ids: number[]): string {
  const same = new Map<string, number[]>();
  for (const id of ids) {
    const { name } = pane.graph.node(id);
    const those = same.get(name);
    if (those) those.push(id);
    else same.set(name, [id]);
  }
  const rows = [...same]
    .map(([name, those]) => ({ name, those, size: pane.graph.bytesOf(those) }))
    .sort((a, b) => b.size - a.size);
  return table(
    ["operation", "nodes", "saved"],
    rows
      .slice(0, 14)
      .map(({ name, those, size }) => [escape(name), number(those.length), bytes(size)]),
  );
}

export function groupDetails(pane: Pane, item: Item): string {
  const { graph, scene } = pane;
  const { name, kind, parent, type } = graph.recording.groups[item.group];
  const counts = countStates(
    item.ids.map((id) => graph.node(id)),
    pane.time,
  );
  const states = counts.flatMap((value, state): [string, string][] =>
    value ? [[LOOKS[state].word, number(value)]] : [],
  );
  const keep = item.ids.length === 1 ? "node keeps" : "nodes keep";
  return [
    crumbs(pane, parent),
    `<h2>${escape(name)} <small>${escape(type || kind)}</small></h2>`,
    `<p class="lead">${number(item.ids.length)} ${keep} <b>${bytes(scene.bytesOf(item.group))}</b> for backward.</p>`,
    `<p><button class="plain" data-toggle="${item.group}">${item.open ? "Fold" : "Open"} <kbd>Enter</kbd></button></p>`,
    section("At this time", facts(states)),
    section("By operation", operationsTable(pane, item.ids)),
  ].join("");
}
