/** One list of shapes; the canvas and the SVG file are two ways to write it down. */
import { escape, tenth } from "./format";

export const FONT =
  'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

export interface Stroke {
  stroke?: string | null;
  width?: number;
  dash?: number[];
}

export interface TextLook {
  size: number;
  fill: string;
  weight?: number;
  align?: "left" | "right" | "center";
  strike?: boolean;
}

export interface Pen {
  rect(
    x: number,
    y: number,
    width: number,
    height: number,
    radius: number,
    fill: string | null,
    stroke?: Stroke,
  ): void;
  path(points: ArrayLike<number>, stroke: Stroke): void;
  polygon(points: number[], fill: string): void;
  /** Many of one look: x, y, width, height in a row. */
  rects(flat: number[], fill: string | null, stroke: Stroke): void;
  paths(list: number[][], stroke: Stroke): void;
  text(text: string, x: number, y: number, look: TextLook): void;
}

interface Trace {
  move(x: number, y: number): void;
  line(x: number, y: number): void;
  curve(cx: number, cy: number, x: number, y: number): void;
}

/** A line through points, with its corners rounded. */
function bend(points: ArrayLike<number>, trace: Trace) {
  const last = points.length / 2 - 1;
  trace.move(points[0], points[1]);
  for (let i = 1; i < last; i++) {
    const [x, y] = [points[2 * i], points[2 * i + 1]];
    const toward = (j: number): [number, number] => {
      const [dx, dy] = [points[2 * j] - x, points[2 * j + 1] - y];
      const length = Math.hypot(dx, dy) || 1;
      const radius = Math.min(length / 2, 22);
      return [x + (dx / length) * radius, y + (dy / length) * radius];
    };
    trace.line(...toward(i - 1));
    trace.curve(x, y, ...toward(i + 1));
  }
  trace.line(points[2 * last], points[2 * last + 1]);
}

export class CanvasPen implements Pen {
  constructor(private context: CanvasRenderingContext2D) {}

  private finish(fill: string | null, { stroke, width = 1, dash = [] }: Stroke) {
    const context = this.context;
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (!stroke) return;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.stroke();
  }

  rect(
    x: number,
    y: number,
    width: number,
    height: number,
    radius: number,
    fill: string | null,
    stroke: Stroke = {},
  ) {
    this.context.beginPath();
    if (radius) this.context.roundRect(x, y, width, height, radius);
    else this.context.rect(x, y, width, height);
    this.finish(fill, stroke);
  }

  path(points: ArrayLike<number>, stroke: Stroke) {
    const context = this.context;
    context.beginPath();
    bend(points, {
      move: (x, y) => context.moveTo(x, y),
      line: (x, y) => context.lineTo(x, y),
      curve: (cx, cy, x, y) => context.quadraticCurveTo(cx, cy, x, y),
    });
    this.finish(null, stroke);
  }

  polygon(points: number[], fill: string) {
    this.context.beginPath();
    for (let i = 0; i < points.length; i += 2) this.context.lineTo(points[i], points[i + 1]);
    this.context.closePath();
    this.finish(fill, {});
  }

  rects(flat: number[], fill: string | null, stroke: Stroke) {
    this.context.beginPath();
    for (let i = 0; i < flat.length; i += 4)
      this.context.rect(flat[i], flat[i + 1], flat[i + 2], flat[i + 3]);
    this.finish(fill, stroke);
  }

  paths(list: number[][], stroke: Stroke) {
    this.context.beginPath();
    for (const points of list) {
      this.context.moveTo(points[0], points[1]);
      for (let i = 2; i < points.length; i += 2) this.context.lineTo(points[i], points[i + 1]);
    }
    this.finish(null, stroke);
  }

  text(
    text: string,
    x: number,
    y: number,
    { size, fill, weight = 400, align = "left", strike }: TextLook,
  ) {
    const context = this.context;
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = fill;
    context.fillText(text, x, y);
    if (!strike) return;
    const width = context.measureText(text).width;
    const left = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
    context.fillRect(left, y - 0.5, width, 1);
  }
}

const ANCHOR = { left: "start", center: "middle", right: "end" };

/** A file says each look once, as a class: a graph of thousands of nodes repeats few of them. */
export class SvgPen implements Pen {
  private parts: string[] = [];
  private classes = new Map<string, string>();

  private look(style: string): string {
    let name = this.classes.get(style);
    if (!name) this.classes.set(style, (name = `c${this.classes.size.toString(36)}`));
    return `class="${name}"`;
  }

  private shape(fill: string | null, { stroke, width = 1, dash }: Stroke): string {
    const line = stroke
      ? `;stroke:${stroke};stroke-width:${tenth(width)}${dash?.length ? `;stroke-dasharray:${dash}` : ""}`
      : "";
    return this.look(`fill:${fill ?? "none"}${line}`);
  }

  rect(
    x: number,
    y: number,
    width: number,
    height: number,
    radius: number,
    fill: string | null,
    stroke: Stroke = {},
  ) {
    const size = `x="${tenth(x)}" y="${tenth(y)}" width="${tenth(width)}" height="${tenth(height)}"`;
    this.parts.push(
      `<rect ${this.shape(fill, stroke)} ${size}${radius ? ` rx="${tenth(radius)}"` : ""}/>`,
    );
  }

  path(points: ArrayLike<number>, stroke: Stroke) {
    let data = "";
    bend(points, {
      move: (x, y) => (data += `M${tenth(x)} ${tenth(y)}`),
      line: (x, y) => (data += `L${tenth(x)} ${tenth(y)}`),
      curve: (cx, cy, x, y) => (data += `Q${tenth(cx)} ${tenth(cy)} ${tenth(x)} ${tenth(y)}`),
    });
    this.parts.push(`<path ${this.shape(null, stroke)} d="${data}"/>`);
  }

  polygon(points: number[], fill: string) {
    this.parts.push(`<polygon ${this.shape(fill, {})} points="${points.map(tenth).join(" ")}"/>`);
  }

  rects(flat: number[], fill: string | null, stroke: Stroke) {
    let data = "";
    for (let i = 0; i < flat.length; i += 4) {
      const [x, y, width, height] = flat.slice(i, i + 4).map(tenth);
      data += `M${x} ${y}h${width}v${height}h${-width}z`;
    }
    if (data) this.parts.push(`<path ${this.shape(fill, stroke)} d="${data}"/>`);
  }

  paths(list: number[][], stroke: Stroke) {
    const data = list.map((points) => `M${points.map(tenth).join(" ")}`).join("");
    if (data) this.parts.push(`<path ${this.shape(null, stroke)} d="${data}"/>`);
  }

  text(
    text: string,
    x: number,
    y: number,
    { size, fill, weight = 400, align = "left", strike }: TextLook,
  ) {
    if (!text) return;
    const bold = weight === 400 ? "" : `;font-weight:${weight}`;
    const anchor = align === "left" ? "" : `;text-anchor:${ANCHOR[align]}`;
    const look = this.look(
      `font-size:${tenth(size)}px;fill:${fill}${bold}${anchor}${strike ? ";text-decoration:line-through" : ""}`,
    );
    this.parts.push(
      `<text ${look} x="${tenth(x)}" y="${tenth(y + size * 0.35)}">${escape(text)}</text>`,
    );
  }

  file(
    [x, y, width, height]: [number, number, number, number],
    back: string,
    title: string,
  ): string {
    const box = [x, y, width, height].map(tenth);
    const size = `width="${box[2]}" height="${box[3]}"`;
    const styles = [...this.classes].map(([style, name]) => `.${name}{${style}}`).join("");
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box.join(" ")}" ${size} role="img" font-family='${FONT}'>`,
      `<title>${escape(title)}</title>`,
      `<style>${styles}</style>`,
      `<rect x="${box[0]}" y="${box[1]}" ${size} fill="${back}"/>`,
      ...this.parts,
      "</svg>",
    ].join("\n");
  }
}
