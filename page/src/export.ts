/** The picture as a file, and on paper. */
import { escape, number } from "./format";
import { paint } from "./paint";
import type { Pane } from "./pane";
import { SvgPen } from "./pen";
import { isDark, setDark, type Colours } from "./theme";

const EVERYWHERE: [number, number, number, number] = [-1e9, -1e9, 1e9, 1e9];

export function svgOf(pane: Pane, colours: Colours): string {
  const pen = new SvgPen();
  paint(pen, pane.scene, { ...pane.look(EVERYWHERE, 1, colours), hover: null });
  const { title, end } = pane.graph.recording;
  const margin = 16;
  const box: [number, number, number, number] = [
    -margin,
    -margin,
    pane.scene.width + 2 * margin,
    pane.scene.height + 2 * margin,
  ];
  return pen.file(
    box,
    colours.bg,
    `${title}, ${pane.subject.title}: autograd graph at ${number(pane.time)} of ${number(end)}`,
  );
}

export function saveSvg(pane: Pane, colours: Colours) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([svgOf(pane, colours)], { type: "image/svg+xml" }));
  link.download = `${pane.graph.recording.title.replace(/\.py$/, "").replace(/[^\w.-]+/g, "-") || "graph"}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Paper is light, and gets drawings without pixels. */
export function usePrint(panes: () => Pane[], sheet: HTMLElement) {
  let dark = false;
  addEventListener("beforeprint", () => {
    dark = isDark();
    const colours = setDark(false);
    sheet.innerHTML = panes()
      .map(
        (pane) =>
          `<figure><figcaption>${escape(pane.graph.recording.title)}, ${escape(pane.subject.title)}</figcaption>${svgOf(pane, colours)}</figure>`,
      )
      .join("");
  });
  addEventListener("afterprint", () => {
    sheet.innerHTML = "";
    setDark(dark);
  });
}
