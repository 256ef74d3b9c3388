// The drawings of the documentation: `make drawings`. A picture of each moment that a program marked.
import { readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { launch, open, pages, settle } from "./browser.mjs";

const folder = process.argv[2];
const browser = await launch();
for (const file of readdirSync(pages)
  .filter((name) => name.endsWith(".html"))
  .sort()) {
  const name = basename(file, ".html");
  const page = await open(browser, name, { colorScheme: "light" });
  await settle(page, 100);
  const drawn = await page.evaluate(async () => {
    const { app, svg } = window.retrograd;
    const { active } = app;
    const marks = active.graph.recording.events.filter(({ kind }) => kind === "mark");
    const found = [];
    for (const { time, label } of marks) {
      active.setTime(time);
      found.push({ label, svg: svg() });
    }
    return found;
  });
  if (page.trouble.length || !drawn.length)
    throw new Error(`${name}: ${page.trouble.join("; ") || "nothing is marked"}`);
  drawn.forEach(({ label, svg }, i) =>
    writeFileSync(
      join(folder, `${name}-${i + 1}.svg`),
      svg.replace(/<title>[^<]*/, `<title>${label}`),
    ),
  );
  await page.done();
}
await browser.close();
