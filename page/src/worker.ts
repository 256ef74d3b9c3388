/** The layout, away from the thread that draws. */
import { layout, type LayoutInput } from "./layout";

export function work() {
  onmessage = (event: MessageEvent<{ ticket: number; input: LayoutInput }>) => {
    const { ticket, input } = event.data;
    postMessage({ ticket, output: layout(input) });
  };
}
