/** How wide a text is, measured once. */
import { FONT } from "./pen";

let context: CanvasRenderingContext2D | null = null;
const known = new Map<string, number>();

export function textWidth(text: string, size: number, weight = 400): number {
  const font = `${weight} ${size}px ${FONT}`;
  const key = `${font}|${text}`;
  let width = known.get(key);
  if (width === undefined) {
    context ??= document.createElement("canvas").getContext("2d")!;
    context.font = font;
    known.set(key, (width = context.measureText(text).width));
  }
  return width;
}

/** The text, shortened with an ellipsis to a width. */
export function shorten(text: string, room: number, size: number, weight = 400): string {
  if (textWidth(text, size, weight) <= room) return text;
  let length = text.length;
  while (length > 1 && textWidth(`${text.slice(0, length)}…`, size, weight) > room) length--;
  return `${text.slice(0, length)}…`;
}
