// The page in a real browser, opened from disk as a person does.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { centreOf, launch, legend, open, settle, shot, state } from "./browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

const clean = (page) => assert.deepEqual(page.trouble, []);

test("opens from disk with no request and no message, ten nodes readable", async () => {
  for (const name of ["ten", "model", "large", "several", "recorded", "training"]) {
    const page = await open(browser, name);
    const { items, scale } = await state(page);
    assert.ok(items.length > 0);
    if (name === "ten") assert.ok(items.length === 10 && scale >= 0.9, `scale ${scale}`);
    await shot(page, name);
    clean(page);
    await page.done();
  }
});

test("a click selects a node and the panel tells its life", async () => {
  const page = await open(browser, "ten");
  await page.mouse.click(...(await centreOf(page, "n4")));
  await settle(page);
  const panel = await page.textContent("#panel-details");
  for (const words of [
    "TanhBackward0",
    "trunk = torch.tanh(x @ W + b)",
    "created here",
    "freed here: backward 1",
    "needed again here: backward 2",
    "4×16",
    "256 B",
    "result",
    "0.999",
    "trunk",
    "directly",
    "float32",
  ]) {
    assert.ok(panel.includes(words), `${words} in ${panel}`);
  }
  await page.mouse.click(...(await centreOf(page, "n3")));
  await settle(page);
  assert.ok(
    (await page.textContent("#panel-details")).includes(
      "Nothing: its rule needs only the gradient",
    ),
  );
  const freed = await page.evaluate(() => {
    const { active } = window.retrograd.app;
    active.select("n4");
    const { freed } = active.graph.node(4);
    active.setTime(freed - 1);
    return freed;
  });
  await settle(page);
  assert.match(await page.textContent("#panel-details"), /backward 1 line 12, is on its way to it/);
  await page.evaluate((time) => window.retrograd.app.active.setTime(time), freed);
  await settle(page);
  assert.match(await page.textContent("#panel-details"), /backward 1 line 12, freed its values/);
  await page.click("[data-back]");
  assert.ok((await page.textContent("#panel-details")).includes("What went wrong"));
  clean(page);
  await page.done();
});

test("a program that was really recorded tells the same story", async () => {
  const page = await open(browser, "recorded");
  const panel = await page.textContent("#panel-details");
  for (const words of [
    "RG101",
    "Trying to backward through the graph a second time",
    "1 created here: TanhBackward0, 4×16",
    "2 freed here: backward 1",
    "3 used again here: MulBackward0",
    "4 needed here: backward 2",
  ])
    assert.ok(panel.includes(words), `${words} in ${panel}`);
  const failed = await page.evaluate(() => window.retrograd.app.active.failedNow().node);
  assert.equal(
    await page.evaluate((id) => window.retrograd.app.active.graph.node(id).name, failed),
    "TanhBackward0",
  );
  clean(page);
  await page.done();
  const training = await open(browser, "training");
  assert.deepEqual(
    await training.evaluate(() =>
      window.retrograd.app.active.graph.recording.calls.map((call) => [call.of, call.place.line]),
    ),
    [
      ["loss", 45],
      ["loss", 45],
      ["loss", 45],
    ],
  );
  assert.match(await training.textContent("#panel-details"), /history\S* holds [23] tensors/);
  await shot(training, "training");
  clean(training);
  await training.done();
});

test("what is not visible is said", async () => {
  const page = await open(browser, "model");
  const last = await page.evaluate(() => window.retrograd.app.active.graph.operations.at(-1).id);
  assert.ok(
    (await page.textContent("#panel-details")).includes(
      "not visible in PyTorch: what CopySlices saves",
    ),
  );
  await page.evaluate((id) => {
    const { active } = window.retrograd.app;
    active.setTime(active.subject.to);
    return active.goTo(id);
  }, last);
  assert.ok(
    (await page.textContent("#panel-details")).includes(
      "unknown: not visible in PyTorch: a hook holds it",
    ),
  );
  await page.done();
});

test("groups fold and unfold, by double click, by the triangle, all at once", async () => {
  const page = await open(browser, "model");
  const folded = (await state(page)).items.find((item) => item.group >= 0 && !item.open);
  const count = (await state(page)).items.length;
  await page.evaluate((id) => window.retrograd.app.active.focus(id, 1), folded.id);
  await settle(page);
  await page.mouse.dblclick(...(await centreOf(page, folded.id)));
  await settle(page, 200);
  assert.ok((await state(page)).open.includes(folded.group));
  assert.ok((await state(page)).items.length > count);
  const at = await centreOf(page, folded.id);
  await page.mouse.click(...at);
  await settle(page, 200);
  assert.ok(!(await state(page)).open.includes(folded.group), "the triangle folds");
  await page.click("#open");
  await settle(page, 300);
  const all = (await state(page)).items;
  assert.ok(all.every((item) => item.group < 0 || item.open));
  await page.click("#fold");
  await settle(page, 200);
  assert.deepEqual(
    (await state(page)).items.map((item) => item.id).filter((id) => id[0] === "g").length,
    4,
  );
  clean(page);
  await page.done();
});

test("the heading that was clicked stays where it is", async () => {
  const page = await open(browser, "model");
  const group = (await state(page)).items.find((item) => item.open).id;
  const corner = () =>
    page.evaluate((id) => {
      const { scene, camera } = window.retrograd.app.active;
      const item = scene.byId.get(id);
      return [item.x * camera.k + camera.x, item.y * camera.k + camera.y];
    }, group);
  const before = await corner();
  await page.evaluate((id) => window.retrograd.app.active.toggle(Number(id.slice(1))), group);
  const after = await corner();
  assert.ok(Math.hypot(before[0] - after[0], before[1] - after[1]) < 1, `${before} ${after}`);
  await page.done();
});

test("search finds operations, modules, lines and opens the way to them", async () => {
  const page = await open(browser, "model");
  await page.keyboard.press("/");
  await page.keyboard.type("softmax");
  await settle(page);
  assert.match(
    await page.textContent("#hits"),
    /SoftmaxBackward0.*step 1 › model › blocks\.0 › attention/,
  );
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await settle(page, 300);
  const { selected, open: opened } = await state(page);
  assert.match(selected, /^n\d+$/);
  assert.ok(opened.length >= 4);
  assert.ok((await page.textContent("#panel-details h2")).includes("SoftmaxBackward0"));
  for (const [query, words] of [
    ["blocks.2", "Block"],
    ["line 17", "0 results"],
    ["line 15", "NllLossBackward0"],
    ["8x32x192", "GeluBackward0"],
    ["self.embed", "EmbeddingBackward0"],
    ["probe.weight", "model.probe.weight"],
  ]) {
    await page.fill("#find", query);
    assert.ok(
      (await page.textContent("#hits")).includes(words),
      `${query}: ${await page.textContent("#hits")}`,
    );
  }
  clean(page);
  await page.done();
});

test("one slides along the time, and only states change", async () => {
  const page = await open(browser, "model");
  const before = (await state(page)).items;
  const lane = await page.locator(".lane").boundingBox();
  const seen = new Set();
  for (const part of [0.02, 0.3, 0.6, 0.97]) {
    await page.mouse.click(lane.x + lane.width * part, lane.y + 40);
    seen.add((await state(page)).time);
    assert.deepEqual((await state(page)).items, before);
  }
  assert.equal(seen.size, 4);
  await page.mouse.move(lane.x + lane.width * 0.9, lane.y + 40);
  await page.mouse.down();
  await page.mouse.move(lane.x + lane.width * 0.1, lane.y + 40, { steps: 5 });
  await page.mouse.up();
  const { time, end } = await state(page);
  assert.ok(time < end * 0.15);
  clean(page);
  await page.done();
});

test("backward calls are events: one jumps between them and reads what they did", async () => {
  const page = await open(browser, "ten");
  const calls = await page.evaluate(() =>
    window.retrograd.app.active.graph.recording.calls.map(({ start, end }) => [start, end]),
  );
  const times = [(await state(page)).time];
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press("[");
    times.push((await state(page)).time);
  }
  for (const time of calls.flat()) assert.ok(times.includes(time), `${time} in ${times}`);
  await page.evaluate((time) => window.retrograd.app.active.setTime(time), calls[0][1]);
  assert.match(await page.textContent(".now"), /backward 1 of loss_a · line 12/);
  assert.deepEqual(await legend(page), { created: 3, retained: 0, freed: 3, passed: 2 });
  await page.click("#panel-details >> text=2 of loss_b");
  assert.match(await page.textContent(".now"), /backward 2 of loss_b failed/);
  await page.done();
});

// The same facts, read from the packed rows without the page's own code.
function recordedStates() {
  const { graph, extent } = window.retrograd.app.active;
  const words = (time) => {
    const counts = {};
    for (const node of graph.recording.nodes) {
      if (node.leaf) continue;
      const word =
        time < node.born
          ? "not yet"
          : node.gone && time >= node.gone
            ? "collected"
            : node.freed && time >= node.freed
              ? node.saved.length
                ? "freed"
                : "passed"
              : node.cut && time >= node.cut
                ? "detached"
                : node.kept && time >= node.kept
                  ? "retained"
                  : "created";
      counts[word] = (counts[word] ?? 0) + 1;
    }
    return counts;
  };
  const shown = () =>
    Object.fromEntries(
      [...document.querySelectorAll(".legend button[data-state]")]
        .map((b) => [
          b.querySelector("span").textContent,
          Number(b.querySelector("b").textContent.replaceAll(",", "")),
        ])
        .filter(([, n]) => n),
    );
  const wrong = [];
  for (const time of graph.moments()) {
    window.retrograd.app.active.setTime(time);
    const [a, b] = [words(time), shown()];
    const same = Object.keys({ ...a, ...b }).every((key) => a[key] === b[key]);
    if (!same || Object.values(b).reduce((x, y) => x + y, 0) !== extent.operations.length)
      wrong.push([time, a, b]);
  }
  return { wrong, moments: graph.moments().length };
}

test("the legend counts the recorded states at every event", async () => {
  for (const name of ["ten", "model", "large", "training"]) {
    const page = await open(browser, name);
    const { wrong, moments } = await page.evaluate(recordedStates);
    assert.ok(moments > 5);
    assert.deepEqual(wrong, []);
    await page.done();
  }
});

test("two losses side by side: what they share and what only one has", async () => {
  const page = await open(browser, "ten");
  await page.click("#compare");
  await settle(page, 200);
  assert.equal((await state(page)).panes, 2);
  const subjects = await page.evaluate(() =>
    window.retrograd.app.panes.map((pane) => [
      pane.subject.title,
      pane.extent.operations.length,
      [...pane.marked.keys()],
    ]),
  );
  assert.deepEqual(subjects, [
    ["backward 1 of loss_a", 5, [5, 6]],
    ["backward 2 of loss_b", 6, [7, 8, 9]],
  ]);
  const panel = await page.textContent("#panel-details");
  assert.ok(panel.includes("3 nodes are in both"), panel);
  await shot(page, "two-losses-compared");
  await page.click("#compare");
  await settle(page, 200);
  assert.equal((await state(page)).panes, 1);
  clean(page);
  await page.done();
});

test("two steps side by side: their times move together, differences are marked", async () => {
  const page = await open(browser, "model");
  await page.click("#compare");
  await page.waitForFunction(() => window.retrograd.app.panes.every(({ marked }) => marked));
  const read = () =>
    page.evaluate(() =>
      window.retrograd.app.panes.map(({ subject, time, marked }) => ({
        title: subject.title,
        part: (time - subject.from) / (subject.to - subject.from),
        marked: marked.size,
      })),
    );
  assert.deepEqual(
    (await read()).map(({ title, marked }) => [title, marked]),
    [
      ["step 3", 0],
      ["step 4", 11],
    ],
  );
  await page.evaluate(() =>
    window.retrograd.app.panes[0].setTime(window.retrograd.app.panes[0].subject.from + 10),
  );
  const [a, b] = await read();
  assert.ok(Math.abs(a.part - b.part) < 0.03, JSON.stringify([a, b]));
  await page.selectOption(".pane:nth-child(2) select", { label: "step 2" });
  await settle(page, 200);
  assert.ok((await page.textContent("#panel-details")).includes("Both have the same operations"));
  await shot(page, "two-steps-compared");
  clean(page);
  await page.done();
});

test("two recordings side by side, and tabs", async () => {
  const page = await open(browser, "several");
  await page.click("#compare");
  await settle(page, 200);
  assert.deepEqual(
    await page.evaluate(() => window.retrograd.app.panes.map((pane) => pane.recording)),
    [0, 1],
  );
  await page.click("#tabs button:nth-child(2)");
  await settle(page, 200);
  assert.equal(await page.textContent("#panel-details h2"), "model.py");
  clean(page);
  await page.done();
});

test("what one sees is in the address, and comes back from it", async () => {
  const page = await open(browser, "model");
  await page.evaluate(async () => {
    const { active } = window.retrograd.app;
    await active.goTo(active.graph.operations.find((node) => node.name === "GeluBackward0").id);
    active.setTime(77);
  });
  await settle(page, 300);
  const before = await state(page);
  const hash = new URL(page.url()).hash;
  const again = await open(browser, "model", { hash });
  const now = await state(again);
  assert.deepEqual(
    [now.time, now.selected, now.open.sort(), now.items.length],
    [77, before.selected, before.open.sort(), before.items.length],
  );
  clean(again);
  await again.done();
  const two = await open(browser, "ten", { hash: "#a=0,c1,9,,&b=0,c2,12,," });
  assert.deepEqual(
    await two.evaluate(() =>
      window.retrograd.app.panes.map((pane) => [pane.subject.key, pane.time]),
    ),
    [
      ["c1", 9],
      ["c2", 12],
    ],
  );
  await two.done();
  const nonsense = await open(browser, "ten", { hash: "#a=0,zz,x,n999,5-1.q.70000&b=%" });
  assert.equal((await state(nonsense)).items.length, 10);
  clean(nonsense);
  await nonsense.done();
  await page.done();
});

test("SVG: it parses, has the nodes and the title, and shows the state at its time", async () => {
  for (const name of ["ten", "model", "large"]) {
    const page = await open(browser, name);
    if (name === "large") await page.evaluate(() => window.retrograd.app.active.openAll());
    const { error, texts, title, size } = await page.evaluate(() => {
      const text = window.retrograd.svg();
      const file = new DOMParser().parseFromString(text, "image/svg+xml");
      return {
        error: file.querySelector("parsererror")?.textContent ?? null,
        title: file.querySelector("title").textContent,
        texts: [...file.querySelectorAll("text")].map((t) => t.textContent),
        size: text.length,
      };
    });
    assert.equal(error, null);
    assert.match(title, /autograd graph at/);
    if (name === "ten")
      for (const word of ["Tanh", "Exp", "W", "8×16", "freed by backward 1"])
        assert.ok(texts.includes(word), word);
    console.log(`  SVG of ${name}: ${(size / 1024).toFixed(0)} KB`);
    await page.done();
  }
  const page = await open(browser, "ten");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#svg")]);
  assert.equal(download.suggestedFilename(), "two_losses.svg");
  await page.done();
});

test("widths from 400 to 1920: nothing sticks out, all boxes of ten nodes are in sight", async () => {
  for (const width of [400, 600, 768, 1024, 1280, 1920]) {
    const page = await open(browser, "ten", {
      viewport: { width, height: width < 700 ? 800 : 900 },
    });
    const over = await page.evaluate(() => [
      document.documentElement.scrollWidth - innerWidth,
      ...[...document.querySelectorAll("header, footer, aside, .bar")].map(
        (e) => e.scrollWidth - e.clientWidth,
      ),
    ]);
    assert.deepEqual(
      over.filter((value) => value > 0),
      [],
      `width ${width}`,
    );
    const outside = await page.evaluate(() => {
      const { active } = window.retrograd.app;
      const [w, h] = active.size;
      const { x, y, k } = active.camera;
      return active.scene.items.filter(
        (i) =>
          i.x * k + x < 0 ||
          i.y * k + y < 0 ||
          (i.x + i.width) * k + x > w ||
          (i.y + i.height) * k + y > h,
      ).length;
    });
    assert.equal(outside, 0, `width ${width}`);
    await shot(page, `width-${width}`);
    await page.click("#compare");
    await settle(page, 150);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    await shot(page, `width-${width}-compared`);
    clean(page);
    await page.done();
  }
});

test("text of twice the size still fits", async () => {
  const page = await open(browser, "ten", { viewport: { width: 1280, height: 900 } });
  await page.addStyleTag({ content: "html { font-size: 200% }" });
  await settle(page, 150);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  assert.ok((await page.locator(".stage").boundingBox()).height > 120);
  const last = await centreOf(page, "n9");
  const stage = await page.locator(".stage").boundingBox();
  assert.ok(
    last[1] < stage.y + stage.height && last[0] < stage.x + stage.width,
    "the picture was fitted again",
  );
  await shot(page, "text-200");
  await page.done();
});

test("a long graph without modules is divided into parts, and parameters stay near", async () => {
  const page = await open(browser, "flat");
  const { items, time, end, runs } = await state(page);
  assert.equal(time, end, "a look at a graph shows it as it is");
  assert.ok(items.length < 160 && items.some((item) => item.node >= 0), `${items.length} boxes`);
  assert.ok(runs <= 3);
  const groups = await page.evaluate(() =>
    window.retrograd.app.active.graph.recording.groups.map(({ name, kind, type }) => [
      name,
      kind,
      type,
    ]),
  );
  assert.deepEqual(groups[0], ["part 1", "part", "lines 2–4"]);
  const far = await page.evaluate(async () => {
    const { active } = window.retrograd.app;
    await active.openAll();
    return {
      all: active.scene.items.filter((item) => !item.leaf && item.node >= 0).length,
      far: active.scene.edges.filter(
        (edge) => edge.from.leaf && edge.from.node === 0 && edge.bounds[3] - edge.bounds[1] > 200,
      ).length,
      runs: active.scene.runs,
    };
  });
  assert.equal(far.all, 3000);
  assert.equal(far.far, 0, "no edge of a parameter is long");
  assert.ok(far.runs < 12, `${far.runs} runs`);
  await page.evaluate(() => window.retrograd.app.active.goTo(0));
  assert.match((await state(page)).selected, /^l0@\d+\.\d+$/);
  await shot(page, "flat");
  clean(page);
  await page.done();
});

test("a long chain in one group stands in columns, and its edges lead from box to box", async () => {
  const page = await open(browser, "chain");
  const { width, height, lost, overlapping, back } = await page.evaluate(() => {
    const { scene } = window.retrograd.app.active;
    const near = (x, y, item, below) =>
      Math.abs(y - (below ? item.y + item.height : item.y)) < 2 &&
      x >= item.x &&
      x <= item.x + item.width;
    const nodes = scene.items.filter((item) => item.node >= 0);
    return {
      width: scene.width,
      height: scene.height,
      lost: scene.edges.filter(({ points, from, to }) => {
        const end = points.length;
        return !(
          near(points[0], points[1], from, true) &&
          near(points[end - 2], points[end - 1], to, false)
        );
      }).length,
      overlapping: nodes.filter((a) =>
        nodes.some(
          (b) =>
            a !== b &&
            a.x < b.x + b.width &&
            b.x < a.x + a.width &&
            a.y < b.y + b.height &&
            b.y < a.y + a.height,
        ),
      ).length,
      // time runs down, and then to the right
      back: scene.edges.filter(({ from, to }) => to.x < from.x - 100).length,
    };
  });
  assert.ok(height < 1100 && width > height, `${width} x ${height}`);
  assert.deepEqual([lost, overlapping, back], [0, 0, 0]);
  await shot(page, "chain");
  clean(page);
  await page.done();
});

test("side by side on 400 px: one time line while the times move together", async () => {
  const page = await open(browser, "recorded", { viewport: { width: 400, height: 800 } });
  await page.click("#compare");
  await settle(page, 200);
  const visible = () => page.locator(".timeline:visible").count();
  assert.equal(await visible(), 1);
  const heights = await page
    .locator(".stage")
    .evaluateAll((stages) => stages.map((stage) => stage.clientHeight));
  assert.ok(Math.min(...heights) > 190, `${heights}`);
  await page.locator(".timeline:visible input").focus();
  await page.keyboard.press("ArrowLeft");
  const [a, b] = await page.evaluate(() =>
    window.retrograd.app.panes.map(({ time, subject }) => time - subject.to),
  );
  assert.ok(a < 0 && b < 0, "both have moved");
  await page.click("#link");
  assert.equal(await visible(), 2);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  await shot(page, "compare-400");
  clean(page);
  await page.done();
});

test("texts of a program are texts, whatever they say", async () => {
  const page = await open(browser, "hostile");
  const result = await page.evaluate(async () => {
    const { app } = window.retrograd;
    const { active } = app;
    await active.openAll();
    for (const item of [...active.scene.items]) active.select(item.id);
    active.setTime(active.subject.to);
    for (const item of [...active.scene.items]) active.select(item.id);
    active.select(null);
    app.toggleOutline();
    app.showDetails();
    const find = document.getElementById("find");
    find.value = "img";
    find.dispatchEvent(new Event("input"));
    await app.toggleCompare();
    const svg = new DOMParser().parseFromString(window.retrograd.svg(), "image/svg+xml");
    return {
      images: document.images.length,
      scripts: document.scripts.length,
      harmed: window.harmed,
      svg: svg.querySelector("parsererror, img, script"),
    };
  });
  await settle(page, 300);
  assert.deepEqual(result, { images: 0, scripts: 2, harmed: undefined, svg: null });
  clean(page);
  await page.done();
});

test("inside a frame of a notebook it works the same", async () => {
  const page = await open(browser, "ten");
  const frame = await page.evaluate(async () => {
    const text = `<!doctype html>${document.documentElement.outerHTML}`;
    const fresh = await new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.srcdoc = text;
      frame.style = "position:fixed;inset:0;width:900px;height:600px;z-index:9";
      frame.onload = () => setTimeout(() => done(frame), 800);
      document.body.append(frame);
    });
    return {
      app: fresh.contentWindow.retrograd !== undefined,
      boxes: fresh.contentWindow.retrograd?.app.active.scene.items.length,
    };
  });
  assert.deepEqual(frame, { app: true, boxes: 10 });
  assert.deepEqual(
    page.trouble.filter((line) => !line.includes("about:srcdoc")),
    [],
  );
  await page.done();
});

test("an empty recording says so", async () => {
  const page = await open(browser, "empty");
  assert.match(await page.textContent("#panel-details"), /No node was recorded/);
  for (const key of ["ArrowDown", "]", "0", "Shift+O", "c", "c", "e"])
    await page.keyboard.press(key);
  await settle(page, 200);
  clean(page);
  await page.done();
});

test("boxes never overlap, however one folds", async () => {
  const page = await open(browser, "model");
  const overlaps = await page.evaluate(async () => {
    const { active } = window.retrograd.app;
    let [seed, bad] = [7, 0];
    const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < 3; i++) await active.toggle(random(active.graph.recording.groups.length));
      const boxes = active.scene.items.filter((item) => !item.open);
      for (const a of boxes)
        for (const b of boxes)
          if (
            a !== b &&
            a.x + 0.5 < b.x + b.width &&
            b.x + 0.5 < a.x + a.width &&
            a.y + 0.5 < b.y + b.height &&
            b.y + 0.5 < a.y + a.height
          )
            bad++;
    }
    return bad;
  });
  assert.equal(overlaps, 0);
  await page.done();
});

test("without a worker the page does the same", async () => {
  const blocked = await open(browser, "model", {
    before: () => {
      window.Worker = function () {
        throw new Error("blocked");
      };
    },
  });
  const failing = await open(browser, "model", {
    before: () => {
      window.Worker = class {
        postMessage() {
          setTimeout(() => this.onerror(new Event("error")), 0);
        }
      };
    },
  });
  const usual = await open(browser, "model");
  const want = (await state(usual)).items;
  assert.deepEqual((await state(blocked)).items, want);
  assert.deepEqual((await state(failing)).items, want);
  clean(blocked);
  for (const page of [blocked, failing, usual]) await page.done();
});

test("5,000 nodes: opening, folding, sliding (figures are printed, not judged)", async () => {
  const page = await open(browser, "large");
  const figures = await page.evaluate(async () => {
    const { active } = window.retrograd.app;
    const time = async (work) => {
      const start = performance.now();
      await work();
      return performance.now() - start;
    };
    const scrub = async () => {
      const all = [];
      for (let i = 0; i < 40; i++)
        all.push(
          await time(() => {
            active.setTime((i * active.subject.to) / 40);
            active.draw();
          }),
        );
      all.sort((a, b) => a - b);
      return `median ${all[20].toFixed(1)} ms, worst ${all[39].toFixed(1)} ms`;
    };
    const out = { nodes: active.extent.operations.length, folded: await scrub() };
    out.toggle = `${(await time(() => active.toggle(0))).toFixed(0)} ms`;
    out.openAll = `${(await time(() => active.openAll())).toFixed(0)} ms`;
    out.boxes = active.scene.items.length;
    out.runs = active.scene.runs;
    out.open = await scrub();
    return out;
  });
  console.log(
    `  ${figures.nodes} nodes: open a step ${figures.toggle}; open all ${figures.openAll} (${figures.boxes} boxes, dagre ran ${figures.runs} times)`,
  );
  console.log(
    `  sliding, folded: ${figures.folded}; all open: ${figures.open}; wanted: under 33 ms`,
  );
  assert.ok(figures.nodes > 5000 && figures.boxes > 5000);
  assert.ok(figures.runs < 60, "equal groups share a layout");
  await settle(page);
  await shot(page, "large-open");
  clean(page);
  await page.done();
});
