/** Where one looks: a shift and a scale between the scene and the screen. */

export type Bounds = [left: number, top: number, right: number, bottom: number];

const LEAST = 0.01;
const MOST = 3;

export class Camera {
  x = 0;
  y = 0;
  k = 1;

  toScene(x: number, y: number): [number, number] {
    return [(x - this.x) / this.k, (y - this.y) / this.k];
  }

  /** What of the scene a room of this size shows. */
  clip(width: number, height: number): Bounds {
    return [...this.toScene(0, 0), ...this.toScene(width, height)];
  }

  zoom(factor: number, x: number, y: number) {
    const k = Math.max(LEAST, Math.min(MOST, this.k * factor));
    this.x = x - ((x - this.x) / this.k) * k;
    this.y = y - ((y - this.y) / this.k) * k;
    this.k = k;
  }

  fit([left, top, right, bottom]: Bounds, width: number, height: number, most = 1.15) {
    const margin = Math.min(28, width / 20);
    this.k = Math.max(
      LEAST,
      Math.min(most, (width - 2 * margin) / (right - left), (height - 2 * margin) / (bottom - top)),
    );
    this.x = (width - (left + right) * this.k) / 2;
    const spare = height - (bottom - top) * this.k;
    this.y = spare * (spare > height / 2 ? 0.3 : 0.5) - top * this.k;
  }

  centre(x: number, y: number, width: number, height: number) {
    this.x = width / 2 - x * this.k;
    this.y = height / 2 - y * this.k;
  }
}
