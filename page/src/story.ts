/** With nothing selected the panel tells what went wrong, what grows, what stays, and where memory goes. */
import { bytes, count, escape, number } from "./format";
import type { Graph } from "./graph";
import { nodeLink, section, table, timeLink } from "./html";
import type { Pane } from "./pane";
import type { Call, GraphNode } from "./recording";
import { source } from "./source";

function failureStory(graph: Graph): string {
  const call = graph.recording.calls.find((c) => c.failure);
  if (!call?.failure) return "";
  const message = call.failure.message.split(/ \(or| Hint:/)[0].replace(/\.$/, "");
  const code = call.failure.code ? `<b>${escape(call.failure.code)}</b> ` : "";
  const said = `<p class="bad">${code}${escape(message)}.</p>`;
  if (call.failure.node < 0)
    return section(
      "What went wrong",
      said +
        source(graph, [
          { place: call.place, kind: "error", words: `${call.kind} ${call.number} failed here` },
        ]),
    );
  return section("What went wrong", said + failurePath(graph, call, graph.node(call.failure.node)));
}

/** A saved value was written before the call that needs it. */
function writtenStory(graph: Graph, call: Call, node: GraphNode): string {
  const writes = graph.recording.events.filter(
    (event) => event.kind === "write" && event.node === node.id && event.time <= call.end,
  );
  if (!writes.length) return "";
  const shown = source(graph, [
    {
      place: node.places[0],
      kind: "created",
      words: `1 created here: ${node.name}, ${node.shape}`,
    },
    ...writes.map(({ place, label }) => ({ place, kind: "error" as const, words: `2 ${label}` })),
    { place: call.place, kind: "error", words: `3 needed here: ${call.kind} ${call.number}` },
  ]);
  return `${shown}<p class="lead first">${nodeLink(graph, node.id)} had saved a value for backward, and it was written before ${escape(call.kind)} ${call.number} came to it. <button class="link" data-failure>Show the path</button></p>`;
}

function failurePath(graph: Graph, call: Call, node: GraphNode): string {
  const written = node.freedBy ? "" : writtenStory(graph, call, node);
  if (written) return written;
  const by = graph.call(node.freedBy);
  const route = graph.route(call.roots, node.id);
  const later = by && [...route].reverse().find((id) => graph.node(id).born > by.end);
  const user = graph.node(later ?? route[route.length - 2] ?? node.id);
  const shown = source(graph, [
    {
      place: node.places[0],
      kind: "created",
      words: `1 created here: ${node.name}, ${node.shape}`,
    },
    {
      place: by?.place,
      kind: "freed",
      words: `2 freed here: ${by?.kind} ${by?.number} (${count(by?.walked ?? 0, "node")})`,
    },
    ...(user === node
      ? []
      : [
          {
            place: user.places[0],
            kind: "error" as const,
            words: `3 used again here: ${user.name}`,
          },
        ]),
    { place: call.place, kind: "error", words: `4 needed here: ${call.kind} ${call.number}` },
  ]);
  const told = by
    ? `${escape(call.kind)} ${call.number} follows the marked path into ${nodeLink(graph, node.id)}, whose saved values ${escape(by.kind)} ${by.number} released.`
    : `${escape(call.kind)} ${call.number} failed at ${nodeLink(graph, node.id)}.`;
  return `${shown}<p class="lead first">${told} <button class="link" data-failure>Show the path</button></p>`;
}

function growthStory(graph: Graph): string {
  const kept = graph.recording.calls.filter((call) => call.retain && !call.failure);
  if (kept.length < 3) return "";
  const [first, last] = [kept[0], kept[kept.length - 1]];
  if (last.walked <= first.walked) return "";
  return section(
    "What grows",
    `<p class="lead">${count(kept.length, "call")} kept the graph. The first walked <b>${number(first.walked)}</b> nodes, the last <b>${number(last.walked)}</b>: each step walks all earlier ones again.</p>`,
  );
}

function holdStory(graph: Graph): string {
  const lists = new Map<string, number>();
  for (const [path] of graph.heldAt(graph.recording.end)) {
    const found = /^(.*)\[\d+\]$/.exec(path);
    if (found) lists.set(found[1], (lists.get(found[1]) ?? 0) + 1);
  }
  const most = [...lists].sort((a, b) => b[1] - a[1])[0];
  if (!most || most[1] < 2) return "";
  return section(
    "What stays",
    `<p class="lead"><code>${escape(most[0])}</code> holds ${count(most[1], "tensor")} with their graphs until the end. <code>.detach()</code> or <code>.item()</code> before storing lets the nodes go.</p>`,
  );
}

/** The lines whose nodes keep most at this time; a click shows only their nodes. */
function linesStory(pane: Pane): string {
  const { graph, time } = pane;
  const byLine = new Map<string, number[]>();
  for (const node of pane.extent.operations) {
    const place = node.places[0];
    if (!place || node.born > time || graph.endOf(node) <= time || !node.bytes) continue;
    const key = `${place.file}:${place.line}`;
    const here = byLine.get(key);
    if (here) here.push(node.id);
    else byLine.set(key, [node.id]);
  }
  const rows = [...byLine]
    .map(([key, ids]) => ({ key, ids, size: graph.bytesOf(ids) }))
    .sort((a, b) => b.size - a.size);
  const most = rows[0]?.size ?? 1;
  const html = rows.slice(0, 6).map(({ key, ids, size }) => {
    const [file, line] = key.split(":").map(Number);
    const on = pane.line?.file === file && pane.line.line === line;
    return `<button class="line" data-line="${key}" aria-pressed="${on}" title="${count(ids.length, "node")}. Click to see only these."><i>${line}</i><code>${escape(graph.line({ file, line }).trim())}</code><b>${bytes(size)}</b><span style="width:${Math.round((size / most) * 100)}%"></span></button>`;
  });
  return section(
    "Lines that keep most now",
    html.length
      ? `<div class="lines">${html.join("")}</div>`
      : `<p class="soft">Nothing is kept for backward at this time.</p>`,
  );
}

function callsStory(graph: Graph): string {
  const rows = graph.recording.calls.map((call) => [
    timeLink(
      call.end,
      `${call.failure ? "✕ " : ""}${call.number}${call.of ? ` of ${call.of}` : ""}`,
    ),
    call.place ? String(call.place.line) : "?",
    call.retain ? escape(call.how.replace(/^retain_graph=/, "") || "yes") : "no",
    number(call.walked),
  ]);
  return section(
    "Backward calls",
    rows.length
      ? table(["call", "line", "retain", "nodes"], rows)
      : `<p class="soft">None was recorded.</p>`,
  );
}

export function story(pane: Pane): string {
  const { graph } = pane;
  const { recording } = graph;
  const library = `${recording.library} ${recording.libraryVersion}`.trim();
  return [
    `<div class="soft">${escape(library)}</div><h2>${escape(recording.title)}</h2>`,
    `<p class="lead"><b>${number(pane.extent.operations.length)}</b> nodes, <b>${number(recording.calls.length)}</b> backward calls, <b>${bytes(pane.extent.peak)}</b> saved at the peak.</p>`,
    pane.extent.operations.length
      ? ""
      : `<p class="lead">No node was recorded: nothing that requires grad was computed, or gradients were off.</p>`,
    failureStory(graph),
    growthStory(graph),
    holdStory(graph),
    linesStory(pane),
    callsStory(graph),
    section(
      "Not visible",
      recording.notes.map((note) => `<p class="soft">${escape(note)}</p>`).join(""),
    ),
    `<p class="soft keys"><kbd>?</kbd> tells the keys.</p>`,
  ].join("");
}
