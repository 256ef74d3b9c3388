// The documentation's site, opened from the disk: its search finds names. `make docs-test` runs it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { launch } from "./browser.mjs";

const site = process.env.SITE;
let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** What a person sees who opens the site and types a word: pages, the best first. */
async function found(word) {
  const page = await browser.newPage();
  const elsewhere = [];
  page.on(
    "request",
    (request) => request.url().startsWith("file:") || elsewhere.push(request.url()),
  );
  await page.goto(pathToFileURL(join(site, "index.html")).href);
  await page.locator("[data-md-component=search-query]").click();
  await page.keyboard.type(word, { delay: 30 });
  await page.waitForFunction(() => document.querySelector(".md-search-result__item a"), null, {
    timeout: 60000,
  });
  const links = await page
    .locator(".md-search-result__item")
    .evaluateAll((items) =>
      items
        .map((item) =>
          [...item.querySelectorAll("a")].map((link) =>
            link.getAttribute("href").replace(/\?[^#]*/, ""),
          ),
        )
        .flat(),
    );
  await page.close();
  assert.deepEqual(elsewhere, []);
  return links;
}

for (const [word, wanted] of [
  ["AdamW", "reference/optim.html#torch.optim.AdamW"],
  ["LSTM", "reference/nn.html#torch.nn.LSTM"],
  ["DataLoader", "reference/utils.html#torch.utils.data.DataLoader"],
  ["RG101", "errors/RG101.html"],
  ["retain_graph", "guides/retain_graph.html"],
]) {
  test(`the search finds ${word}`, async () => {
    const links = await found(word);
    assert.ok(
      links.some((link) => link.endsWith(wanted)),
      `${wanted} is not among ${links.slice(0, 12).join(" ")}`,
    );
  });
}
