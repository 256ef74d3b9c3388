// The doctor's report in a real browser: its places lead into the graph, and back.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { centreOf, launch, open, settle, shot, state } from "./browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

const clean = (page) => assert.deepEqual(page.trouble, []);
const narrow = { viewport: { width: 400, height: 800 } };

const ok = (text, words) => text.replace(/\s+/g, " ").includes(words);

/** What a place of the report says that it is about. */
const target = (page, id) =>
  page.evaluate((id) => {
    const { nodes, time } = document.querySelector(`#${id} a.goto`).dataset;
    return { nodes: nodes.split(" ").map(Number), time: Number(time) };
  }, id);

/** Until a place is shown. */
const shown = (page, time) =>
  page.waitForFunction((time) => {
    const { active, placing } = window.retrograd.app;
    return active.time === time && active.selected && !placing;
  }, time);

const named = (page, id) =>
  page.evaluate((id) => window.retrograd.app.active.graph.node(id).name, id);

/** Whether a box is on the screen with its whole width. */
async function inSight(page, id) {
  const [x, y] = await centreOf(page, id);
  const box = await page.evaluate(() => {
    const { left, top, right, bottom } = window.retrograd.app.active.canvas.getBoundingClientRect();
    return { left, top, right, bottom };
  });
  return x > box.left && x < box.right && y > box.top && y < box.bottom;
}

test("opens with the report beside the graph at the failure", async () => {
  const page = await open(browser, "report");
  const report = await page.textContent("#report");
  for (const words of [
    "train.py: 1 finding",
    "stale-state-carried",
    "created",
    "iteration 1 of the loop in line 22",
    "hidden = torch.tanh(self.inside(x) + self.carry(hidden))",
    "What to change",
    "out, hidden = net(x, hidden.detach())",
    "✓ tried",
    "6 of 6 parameters get gradients",
    "Why not retain_graph=True",
  ])
    assert.ok(ok(report, words), `${words} in ${report}`);
  assert.equal(await page.title(), "retrograd doctor: train.py");
  assert.ok(await page.isVisible("#report"));
  const failed = await page.evaluate(() => window.retrograd.app.active.failedNow().node);
  assert.equal(await named(page, failed), "TanhBackward0");
  assert.ok(await inSight(page, `n${failed}`));
  await shot(page, "report");
  clean(page);
  await page.done();
});

test("a place selects and centres its nodes and moves the time line", async () => {
  const page = await open(browser, "report");
  for (const [id, words] of [
    ["place-1-1", "created"],
    ["place-1-2", "freed"],
    ["place-1-3", "freed"],
  ]) {
    const { nodes, time } = await target(page, id);
    await page.click(`#${id} a.goto`);
    await shown(page, time);
    const now = await state(page);
    assert.equal(now.selected, `n${nodes[0]}`);
    assert.equal(now.time, time);
    assert.equal(await page.inputValue(".lane input"), String(time));
    assert.ok(await inSight(page, now.selected), id);
    const told = await page.evaluate(() =>
      window.retrograd.app.active.say(
        window.retrograd.app.active.scene.byId.get(window.retrograd.app.active.selected),
      ),
    );
    assert.ok(told.includes(words), `${told} at ${id}`);
    assert.equal(await page.getAttribute("#tab-report", "aria-selected"), "true"); // one reads on
    assert.equal(await page.locator("li.here").getAttribute("id"), id);
    await shot(page, `report-${id}`);
  }
  // the link to the old graph: both ends are in sight
  const { nodes } = await target(page, "place-1-3");
  for (const node of nodes) assert.ok(await inSight(page, `n${node}`));
  clean(page);
  await page.done();
});

test("a node says which finding it belongs to, and leads back", async () => {
  const page = await open(browser, "report");
  const { nodes } = await target(page, "place-1-1");
  await page.evaluate((id) => window.retrograd.app.active.goTo(id), nodes[0]);
  await settle(page);
  const details = await page.textContent("#panel-details");
  assert.ok(ok(details, "In the report"), details);
  for (const words of ["1 created", "2 freed", "3 used again", "finding 1: stale-state-carried"])
    assert.ok(ok(details, words), details);
  await page.click("#panel-details [data-place=place-1-2]");
  assert.ok(await page.isVisible("#place-1-2"));
  assert.equal(await page.evaluate(() => document.activeElement.closest("li").id), "place-1-2");
  await page.keyboard.press("Enter");
  await shown(page, (await target(page, "place-1-2")).time);
  // a node that is in no finding says nothing of one
  const other = await page.evaluate(() => {
    const told = [...document.querySelectorAll("a.goto")].flatMap((a) =>
      a.dataset.nodes.split(" "),
    );
    const { active } = window.retrograd.app;
    return active.graph.operations.find(({ id }) => !told.includes(String(id))).id;
  });
  await page.evaluate((id) => window.retrograd.app.active.goTo(id), other);
  await settle(page);
  assert.ok(!(await page.textContent("#panel-details")).includes("In the report"));
  await page.click("[data-back]");
  assert.ok(await page.isVisible("#report"));
  clean(page);
  await page.done();
});

test("everything can be done with keys", async () => {
  const page = await open(browser, "report");
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.matches("#place-1-1 a.goto"))) break;
  }
  assert.ok(await page.evaluate(() => document.activeElement.matches("#place-1-1 a.goto")));
  await page.keyboard.press("Enter");
  await shown(page, (await target(page, "place-1-1")).time);
  await page.keyboard.press("3");
  await shown(page, (await target(page, "place-1-3")).time);
  await page.keyboard.press("o");
  assert.ok(!(await page.isVisible("#report")));
  await page.keyboard.press("r");
  assert.ok(await page.isVisible("#report"));
  await page.focus("#tab-report");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getAttribute("#tab-details", "aria-selected"), "true");
  await page.keyboard.press("Escape");
  assert.ok(await page.isVisible("#report"));
  clean(page);
  await page.done();
});

test("400 px wide: the report, and the graph behind a tap", async () => {
  const page = await open(browser, "report", narrow);
  const overflow = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("#report *")]
        .filter(
          (each) => !each.closest(".source") && each.getBoundingClientRect().right > innerWidth,
        )
        .map((each) => each.outerHTML.slice(0, 80)),
    );
  assert.deepEqual(await overflow(), []);
  assert.ok(!(await page.isVisible(".pane")));
  await shot(page, "report-400");
  const { nodes, time } = await target(page, "place-1-1");
  await page.click("#place-1-1 a.goto");
  await shown(page, time);
  const now = await state(page);
  assert.deepEqual([now.selected, now.time], [`n${nodes[0]}`, time]);
  assert.ok(await page.isVisible(".pane"));
  assert.ok(await inSight(page, now.selected));
  assert.ok(ok(await page.textContent("#panel-details"), "1 created"));
  await shot(page, "report-400-graph");
  await page.click("[data-back]");
  assert.ok(await page.isVisible("#report"));
  await page.click("#tab-details"); // the graph without a place
  await settle(page, 200);
  assert.ok((await state(page)).items.length > 0);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  clean(page);
  await page.done();
});

test("dark, and without a script", async () => {
  const page = await open(browser, "report", { colorScheme: "dark" });
  const bright = await page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.querySelector("#report h2"))
      .color.match(/\d+/g)
      .map(Number);
    return r + g + b;
  });
  assert.ok(bright > 600);
  await shot(page, "report-dark");
  await page.done();
  const context = await browser.newContext({ javaScriptEnabled: false, ...narrow });
  const plain = await context.newPage();
  const { pathToFileURL } = await import("node:url");
  await plain.goto(pathToFileURL(`${process.env.PAGES}/report.html`).href);
  assert.ok(await plain.isVisible("text=What to change"));
  assert.ok(await plain.isVisible("text=Why not"));
  await context.close();
});

test("a list that keeps graphs: all that it holds is marked", async () => {
  const page = await open(browser, "collected");
  const { nodes, time } = await target(page, "place-1-1");
  assert.ok(nodes.length > 2);
  await page.click("#place-1-1 a.goto");
  await shown(page, time);
  const beside = await page.evaluate(() => [...window.retrograd.app.active.beside]);
  assert.deepEqual(beside.sort(), [...nodes].sort());
  await shot(page, "report-collected");
  clean(page);
  await page.done();
});

test("a report without a graph is complete, and says why", async () => {
  const page = await open(browser, "alone", { ...narrow, ready: ".alone" });
  const text = await page.textContent("#report");
  assert.ok(ok(text, "the graph of this run: the recorder failed: OSError"));
  assert.ok(!(await page.isVisible(".find")) && !(await page.isVisible("#fold")));
  await page.click("#theme");
  assert.ok(await page.evaluate(() => document.documentElement.classList.contains("dark")));
  await shot(page, "report-alone");
  clean(page);
  await page.done();
});
