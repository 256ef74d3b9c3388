// The page without a mouse, without colours, without sight, on paper, under a finger.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { centreOf, launch, open, settle, shot, state } from "./browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

const clean = (page) => assert.deepEqual(page.trouble, []);
const said = (page) => page.textContent("#say");

test("keys alone: walk, fold, time, search, outline, compare, help", async () => {
  const page = await open(browser, "model");
  await page.evaluate(() => window.retrograd.app.active.element.focus());
  await page.keyboard.press("ArrowDown");
  const first = (await state(page)).selected;
  assert.ok(first);
  await page.keyboard.press("ArrowDown");
  assert.notEqual((await state(page)).selected, first);
  assert.match(await said(page), /node|Backward0/);
  await page.keyboard.press("Backspace");
  assert.match(await said(page), /^group /);
  const { selected, items } = await state(page);
  await page.keyboard.press("Enter");
  await settle(page, 200);
  assert.notEqual((await state(page)).items.length, items.length);
  assert.equal((await state(page)).selected, selected);
  await page.keyboard.press("]");
  const time = (await state(page)).time;
  await page.keyboard.press("[");
  assert.notEqual((await state(page)).time, time);
  await page.keyboard.press("Shift+O");
  await settle(page, 200);
  await page.keyboard.press("Shift+F");
  await settle(page, 200);
  assert.deepEqual((await state(page)).open, []);
  await page.keyboard.press("c");
  await settle(page, 200);
  assert.equal((await state(page)).panes, 2);
  await page.keyboard.press("c");
  await settle(page, 200);
  const dark = await page.evaluate(() => document.documentElement.className);
  await page.keyboard.press("t");
  assert.notEqual(await page.evaluate(() => document.documentElement.className), dark);
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("dialog"));
  await page.keyboard.press("Escape");
  assert.ok(!(await page.isVisible("dialog")));
  clean(page);
  await page.done();
});

test("the tab key comes to the picture, the panel and the time, each with a visible focus", async () => {
  const page = await open(browser, "ten");
  const seen = new Set();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    seen.add(
      await page.evaluate(() => {
        const e = document.activeElement;
        return e.id || e.className || e.tagName;
      }),
    );
  }
  for (const part of ["find", "fold", "pane", "tab-details", "play"])
    assert.ok(
      [...seen].some((name) => name.split(" ").includes(part)),
      `${part} in ${[...seen]}`,
    );
  await page.focus(".lane input");
  const time = (await state(page)).time;
  await page.keyboard.press("ArrowLeft");
  assert.equal((await state(page)).time, time - 1);
  assert.match(await page.getAttribute(".lane input", "aria-valuetext"), /backward 2/);
  await page.done();
});

test("the outline is a tree of the same folding, for a screen reader", async () => {
  const page = await open(browser, "model");
  await page.evaluate(() => window.retrograd.app.active.element.focus());
  await page.keyboard.press("o");
  const rows = () => page.locator("[role=treeitem]").count();
  const before = await rows();
  assert.ok(before >= 4);
  const folded = page.locator("[role=treeitem][aria-expanded=false]").first();
  const name = await folded.textContent();
  await folded.click();
  await page.keyboard.press("ArrowRight");
  await settle(page, 200);
  assert.ok((await rows()) > before, name);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "treeitem");
  assert.equal(
    await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")),
    "true",
  );
  await page.keyboard.press("ArrowRight");
  assert.equal(
    await page.evaluate(() => Number(document.activeElement.getAttribute("aria-level"))),
    2,
  );
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await settle(page, 200);
  assert.equal(await rows(), before);
  await shot(page, "outline");
  clean(page);
  await page.done();
});

test("every control has a name", async () => {
  const page = await open(browser, "several");
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, [role=application], [role=tree]")]
      .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length))
      .map((e) => e.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await page.done();
});

function contrast(a, b) {
  const light = (c) =>
    c
      .map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
}
const rgb = (hex) =>
  (hex.length === 4 ? [...hex.slice(1)].map((d) => d + d) : hex.slice(1).match(/../g)).map((part) =>
    parseInt(part, 16),
  );

test("light and dark: words stand out from their ground", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, "ten", { colorScheme });
    assert.equal(
      await page.evaluate(() => document.documentElement.classList.contains("dark")),
      colorScheme === "dark",
    );
    const colours = await page.evaluate(() => window.retrograd.app.colours);
    const pairs = [
      ["ink", "bg"],
      ["soft", "bg"],
      ["soft", "panel"],
      ["faint", "panel"],
      ["accent", "panel"],
      ["error", "error-bg"],
      ["ink", "created-bg"],
      ["ink", "retained-bg"],
      ["ink", "detached-bg"],
      ["soft", "group2"],
    ];
    for (const [ink, ground] of pairs)
      assert.ok(
        contrast(rgb(colours[ink]), rgb(colours[ground])) >= 4.3,
        `${colorScheme}: ${ink} on ${ground} ${contrast(rgb(colours[ink]), rgb(colours[ground])).toFixed(2)}`,
      );
    for (const state of ["created", "retained", "freed", "detached", "error"])
      assert.ok(contrast(rgb(colours[state]), rgb(colours.bg)) >= 2.5, `${colorScheme}: ${state}`);
    await shot(page, `ten-${colorScheme}`);
    clean(page);
    await page.done();
  }
});

/** Colours of the legend's marks as the screen shows them, read from a picture of it. */
async function marks(page, states) {
  const out = {};
  for (const state of states) {
    const box = await page.locator(`.legend [data-state="${state}"] svg`).boundingBox();
    const png = (await page.screenshot({ clip: box })).toString("base64");
    out[state] = await page.evaluate(async (data) => {
      const image = await createImageBitmap(
        await (await fetch(`data:image/png;base64,${data}`)).blob(),
      );
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      return [...context.getImageData(image.width >> 1, image.height >> 1, 1, 1).data].slice(0, 3);
    }, png);
  }
  return out;
}

test("colour-blind: the filled states stay apart, and each state has a shape of its own", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, "model", { colorScheme });
    await page.evaluate(() => {
      const { active } = window.retrograd.app;
      const [kept, cut] = active.graph.operations; // so that all filled states are in the legend
      Object.assign(kept, { freed: 0, gone: 0, kept: active.time });
      Object.assign(cut, { freed: 0, gone: 0, cut: active.time });
      active.setTime(active.time);
    });
    await page.addStyleTag({
      content: ".legend .zero { opacity: 1 !important; display: flex !important }",
    });
    const session = await page.context().newCDPSession(page);
    for (const type of ["deuteranopia", "protanopia", "tritanopia", "achromatopsia"]) {
      await session.send("Emulation.setEmulatedVisionDeficiency", { type });
      const seen = await marks(page, [1, 2, 5]);
      const pairs = [
        [1, 2],
        [1, 5],
        [2, 5],
      ];
      for (const [a, b] of pairs) {
        const distance = Math.hypot(...seen[a].map((v, i) => v - seen[b][i]));
        // grey only: shapes and borders tell; colours: clearly apart
        if (type !== "achromatopsia")
          assert.ok(
            distance > 60,
            `${colorScheme} ${type}: states ${a} and ${b} ${distance.toFixed(0)} ${seen[a]} ${seen[b]}`,
          );
      }
      await shot(page, `${type}-${colorScheme}`);
    }
    const shapes = await page.evaluate(() =>
      [...document.querySelectorAll(".legend button[data-state] svg")].map((svg) =>
        svg.innerHTML.replace(/var\(--[\w-]+\)/g, ""),
      ),
    );
    assert.ok(shapes.length >= 4);
    assert.equal(new Set(shapes).size, shapes.length);
    await page.done();
  }
});

test("a finger: tap selects, drag moves, two fingers come closer, the time slides", async () => {
  const page = await open(browser, "ten", {
    hasTouch: true,
    viewport: { width: 420, height: 800 },
  });
  await page.touchscreen.tap(...(await centreOf(page, "n4")));
  await settle(page);
  assert.equal((await state(page)).selected, "n4");
  const before = await page.evaluate(() => ({ ...window.retrograd.app.active.camera }));
  const session = await page.context().newCDPSession(page);
  const touch = (type, ...points) =>
    session.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: points.map(([x, y], id) => ({ x, y, id })),
    });
  await touch("touchStart", [150, 250], [250, 250]);
  await touch("touchMove", [100, 250], [300, 250]);
  await touch("touchMove", [80, 250], [320, 250]);
  await touch("touchEnd");
  await settle(page);
  assert.ok((await page.evaluate(() => window.retrograd.app.active.camera.k)) > before.k * 1.3);
  const lane = await page.locator(".lane").boundingBox();
  await touch("touchStart", [lane.x + lane.width * 0.8, lane.y + 30]);
  await touch("touchMove", [lane.x + lane.width * 0.2, lane.y + 30]);
  await touch("touchEnd");
  const { time, end } = await state(page);
  assert.ok(time < end * 0.3, `${time} of ${end}`);
  await page.done();
});

test("on paper: the drawing without pixels, no tools, light", async () => {
  const page = await open(browser, "ten", { colorScheme: "dark" });
  const pdf = await page.pdf();
  assert.ok(pdf.length > 5000);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.isVisible("#paper svg"));
  assert.ok(!(await page.isVisible(".tools")));
  assert.ok(!(await page.evaluate(() => document.documentElement.classList.contains("dark"))));
  await shot(page, "paper");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.ok(await page.evaluate(() => document.documentElement.classList.contains("dark")));
  await page.done();
});
