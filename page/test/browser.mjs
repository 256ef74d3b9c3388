// Chromium without a window, and the few things that all tests do with it.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

export const pages = process.env.PAGES;
export const shots = process.env.SHOTS;

export async function launch() {
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  if (!existsSync(executablePath))
    throw new Error(`no Chromium at ${executablePath}: set CHROMIUM`);
  return chromium.launch({ executablePath, args: FLAGS });
}

/** Opens a page from disk. Every error, console message and request goes into `trouble`. */
export async function open(browser, name, { hash = "", before, ready, ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10000);
  const trouble = [];
  page.on("console", (message) => trouble.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (
      !/^(file|blob|data):/.test(request.url()) ||
      (request.url().startsWith("file:") && !request.isNavigationRequest())
    )
      trouble.push(`request: ${request.url()}`);
  });
  if (before) await page.addInitScript(before);
  await page.goto(pathToFileURL(join(pages, `${name}.html`)).href + hash);
  if (ready) await page.waitForSelector(ready);
  else await page.waitForFunction("window.retrograd", null, { timeout: 30000 });
  return Object.assign(page, { trouble, done: () => context.close() });
}

/** What the active pane is, as plain data. */
export function state(page) {
  return page.evaluate(() => {
    const { active, panes } = window.retrograd.app;
    return {
      time: active.time,
      end: active.subject.to,
      selected: active.selected,
      subject: active.subject.key,
      panes: panes.length,
      open: [...active.scene.open],
      scale: active.camera.k,
      runs: active.scene.runs,
      milliseconds: active.scene.milliseconds,
      items: active.scene.items.map(({ id, node, group, open, leaf, x, y, width, height }) => ({
        id,
        node,
        group,
        open,
        leaf,
        x,
        y,
        width,
        height,
      })),
    };
  });
}

/** Where on the screen a box is. */
export function centreOf(page, id, part = 0.5) {
  return page.evaluate(
    ([id, part]) => {
      const { active } = window.retrograd.app;
      const item = active.scene.byId.get(id);
      const box = active.canvas.getBoundingClientRect();
      const { x, y, k } = active.camera;
      return [
        box.left + x + (item.x + (item.open ? 12 : item.width * part)) * k,
        box.top + y + (item.y + (item.open ? 15 : item.height / 2)) * k,
      ];
    },
    [id, part],
  );
}

export const settle = (page, milliseconds = 80) => page.waitForTimeout(milliseconds);

export async function shot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** The legend's numbers, by word. */
export function legend(page) {
  return page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll(".pane .legend button[data-state]")].map((button) => [
        button.querySelector("span").textContent,
        Number(button.querySelector("b").textContent.replaceAll(",", "")),
      ]),
    ),
  );
}
