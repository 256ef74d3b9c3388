/** Asks the worker for a layout; where a page may not have one, the layout runs here. */
import { layout, type LayoutInput, type LayoutOutput } from "./layout";

// The worker is the page's own script once more: where there is no document it only lays out.
const SCRIPT = typeof document === "undefined" ? "" : (document.currentScript?.textContent ?? "");

interface Waiting {
  input: LayoutInput;
  done: (output: LayoutOutput) => void;
}

class Placing {
  private worker: Worker | null = null;
  private waiting = new Map<number, Waiting>();
  private ticket = 0;

  constructor() {
    try {
      const address = URL.createObjectURL(new Blob([SCRIPT], { type: "text/javascript" }));
      this.worker = new Worker(address);
      this.worker.onmessage = ({ data }) => this.answer(data.ticket, data.output);
      this.worker.onerror = () => this.withoutWorker();
    } catch {
      this.worker = null;
    }
  }

  private answer(ticket: number, output: LayoutOutput) {
    this.waiting.get(ticket)?.done(output);
    this.waiting.delete(ticket);
  }

  private withoutWorker() {
    this.worker = null;
    for (const [ticket, { input }] of [...this.waiting]) this.answer(ticket, layout(input));
  }

  place(input: LayoutInput): Promise<LayoutOutput> {
    const worker = this.worker;
    if (!worker) return Promise.resolve(layout(input));
    return new Promise((done) => {
      this.waiting.set(++this.ticket, { input, done });
      worker.postMessage({ ticket: this.ticket, input });
    });
  }
}

let placing: Placing | null = null;

export function place(input: LayoutInput): Promise<LayoutOutput> {
  placing ??= new Placing();
  return placing.place(input);
}
