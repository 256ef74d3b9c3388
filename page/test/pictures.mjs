// The pictures of the page in the documentation: `make page-pictures`.
import { join } from "node:path";
import { launch, open, settle } from "./browser.mjs";

const folder = process.argv[2];
const browser = await launch();
const options = { viewport: { width: 1080, height: 680 } };

const failed = await open(browser, "recorded", options);
await settle(failed, 200);
await failed.screenshot({ path: join(folder, "page.png") });

const compared = await open(browser, "recorded", options);
await compared.click("#compare");
await settle(compared, 200);
await compared.screenshot({ path: join(folder, "page-compare.png") });

const training = await open(browser, "training", { ...options, colorScheme: "dark" });
await training.evaluate(async () => {
  const { active } = window.retrograd.app;
  const node = active.graph.operations.filter(({ name }) => name.startsWith("Softmax")).pop();
  await active.goTo(node.id);
  active.camera.k = 0.62;
  active.focus(`n${node.id}`, 0.62);
  active.setTime(active.graph.recording.calls[2].start + 9);
});
await settle(training, 200);
await training.screenshot({ path: join(folder, "page-training.png") });
const report = await open(browser, "report", { viewport: { width: 1280, height: 800 } });
await report.click("#place-1-3 a.goto");
await settle(report, 300);
await report.screenshot({ path: join(folder, "page-report.png") });
await browser.close();
