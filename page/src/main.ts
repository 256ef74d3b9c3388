import { App } from "./app";
import { svgOf } from "./export";
import { escape } from "./format";
import { readPage } from "./recording";
import { work } from "./worker";

declare global {
  interface Window {
    /** For tests, and for those who open the console. */
    retrograd?: { app: App; svg: () => string };
  }
}

async function main() {
  try {
    const app = new App(await readPage());
    await app.start();
    window.retrograd = { app, svg: () => svgOf(app.active, app.colours) };
  } catch (error) {
    document.getElementById("panes")!.innerHTML =
      `<p class="broken">This page cannot show its recording: ${escape(String(error))}</p>`;
    throw error;
  }
}

if (typeof document === "undefined") work();
else void main();
