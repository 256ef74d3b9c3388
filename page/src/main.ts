import { App } from "./app";
import { svgOf } from "./export";
import { escape } from "./format";
import { readPage } from "./recording";
import { followSystem, isDark, setDark } from "./theme";
import { work } from "./worker";

declare global {
  interface Window {
    /** For tests, and for those who open the console. */
    retrograd?: { app: App; svg: () => string };
  }
}

/** A report without a picture: only light and dark are left to choose. */
function alone() {
  document.body.classList.add("alone");
  document.getElementById("tool")!.textContent = "doctor";
  followSystem((dark) => setDark(dark));
  document.getElementById("theme")!.addEventListener("click", () => setDark(!isDark()));
}

async function main() {
  try {
    const article = document.getElementById("report")!;
    const report = article.hidden ? null : article;
    const recordings = await readPage();
    if (report && !recordings.length) return alone();
    const app = new App(recordings, report);
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
