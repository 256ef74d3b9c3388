/** Each state has a colour, a glyph and a border, so that none of them alone has to tell. */
import type { Pen } from "./pen";
import { LOOKS, State } from "./state";
import type { Colours } from "./theme";

export function drawGlyph(pen: Pen, state: State, x: number, y: number, colour: string, r = 4) {
  const ring = (width: number, dash?: number[]) =>
    pen.rect(x - r + 0.5, y - r + 0.5, 2 * r - 1, 2 * r - 1, r, null, {
      stroke: colour,
      width,
      dash,
    });
  if (state === State.Created) pen.rect(x - r, y - r, 2 * r, 2 * r, r, colour);
  else if (state === State.Retained) pen.rect(x - r, y - r, 2 * r, 2 * r, 1, colour);
  else if (state === State.Freed) ring(1.5, [2.4, 1.6]);
  else if (state === State.Passed) ring(1.3);
  else if (state === State.Detached)
    pen.polygon([x, y - r - 1, x + r + 1, y, x, y + r + 1, x - r - 1, y], colour);
  else if (state === State.Gone)
    pen.path([x - r, y, x + r, y], { stroke: colour, width: 1.4, dash: [2, 2] });
  else if (state === State.Unknown)
    pen.text("?", x, y + 0.5, { size: 11, fill: colour, weight: 700, align: "center" });
}

const SHAPES: Record<number, (colour: string) => string> = {
  [State.Created]: (c) => `<circle r="4.2" fill="${c}"/>`,
  [State.Retained]: (c) => `<rect x="-4" y="-4" width="8" height="8" rx="1" fill="${c}"/>`,
  [State.Freed]: (c) =>
    `<circle r="3.8" fill="none" stroke="${c}" stroke-width="1.6" stroke-dasharray="2.4 1.6"/>`,
  [State.Passed]: (c) => `<circle r="3.8" fill="none" stroke="${c}" stroke-width="1.4"/>`,
  [State.Detached]: (c) => `<path d="M0-5 5 0 0 5-5 0z" fill="${c}"/>`,
  [State.Gone]: (c) =>
    `<path d="M-5 0h10" stroke="${c}" stroke-width="1.6" stroke-dasharray="2 2"/>`,
  [State.Unknown]: (c) =>
    `<text text-anchor="middle" dy=".35em" font-size="12" font-weight="700" fill="${c}">?</text>`,
  [State.Unborn]: (c) =>
    `<rect x="-4" y="-4" width="8" height="8" rx="2" fill="none" stroke="${c}" stroke-dasharray="1 2"/>`,
  [State.Leaf]: (c) => `<rect x="-5" y="-3" width="10" height="6" rx="3" fill="${c}"/>`,
};

/** The same for a place in the page's text. */
export function glyphHtml(state: State): string {
  const faint = state === State.Gone || state === State.Unborn;
  const colour = `var(--${faint ? "freed" : LOOKS[state].colour})`;
  return `<svg class="glyph" width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true">${SHAPES[state](colour)}</svg>`;
}

export interface StateInk {
  fill: string | null;
  border: string;
  width: number;
  dash?: number[];
}

/** How the box of a node is drawn. */
export function boxInk(state: State, colours: Colours): StateInk {
  const colour = colours[LOOKS[state].colour];
  switch (state) {
    case State.Unborn:
    case State.Gone:
      return { fill: colours.bg, border: colours.gone, width: 1.1, dash: [2, 3] };
    case State.Retained:
      return { fill: colours["retained-bg"], border: colour, width: 2 };
    case State.Freed:
      return { fill: colours.bg, border: colour, width: 1.2, dash: [4, 3] };
    case State.Passed:
      return { fill: colours.bg, border: colour, width: 1 };
    case State.Unknown:
      return { fill: colours.bg, border: colour, width: 1.2, dash: [1.5, 2.5] };
    case State.Leaf:
      return { fill: colours["leaf-bg"], border: colours.edge, width: 1 };
    default:
      return { fill: colours[`${LOOKS[state].colour}-bg`], border: colour, width: 1.2 };
  }
}
