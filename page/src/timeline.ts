/** Memory and live nodes over time, with steps, backward calls and detaches; one slides on it. */
import { bytes, number } from "./format";
import { sharpen, type Pane } from "./pane";
import { CanvasPen, type Pen } from "./pen";
import type { Call, Mark } from "./recording";
import { valueAt, type Series } from "./series";
import type { Colours } from "./theme";

const EDGE = 7; // room at both ends, so that the handle is not cut
const TOP = 16;
const FOOT = 24;

export class Timeline {
  readonly element = document.createElement("div");
  readonly slider = document.createElement("input");
  private readonly canvas = document.createElement("canvas");
  private readonly chart = document.createElement("canvas");
  private drawn: unknown[] = [];
  private readonly lane = document.createElement("div");
  private readonly now = document.createElement("div");
  private playing = 0;

  constructor(readonly pane: Pane) {
    this.element.className = "timeline";
    this.now.className = "now";
    this.lane.className = "lane";
    Object.assign(this.slider, { type: "range", step: "1" });
    this.slider.setAttribute("aria-label", "Time");
    this.now.innerHTML = `<button class="play" aria-label="Play" title="Play (space)">▶</button><b class="when"></b><span class="what"></span><span class="meters"></span>`;
    this.lane.append(this.canvas, this.slider);
    this.element.append(this.now, this.lane);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.lane);
  }

  private part(name: string): HTMLElement {
    return this.now.querySelector<HTMLElement>(`.${name}`)!;
  }

  private listen() {
    this.slider.addEventListener("input", () => this.pane.setTime(Number(this.slider.value)));
    this.part("play").addEventListener("click", () => this.play());
    let sliding = false;
    const slide = (event: PointerEvent) => {
      const box = this.lane.getBoundingClientRect();
      const { from, to } = this.pane.subject;
      this.pane.setTime(
        from + ((event.clientX - box.left - EDGE) / (box.width - 2 * EDGE)) * (to - from),
      );
    };
    this.lane.addEventListener("pointerdown", (event) => {
      sliding = true;
      this.lane.setPointerCapture(event.pointerId);
      this.pane.host.activate(this.pane);
      slide(event);
      this.slider.focus({ preventScroll: true });
    });
    this.lane.addEventListener("pointermove", (event) => sliding && slide(event));
    for (const end of ["pointerup", "pointercancel"])
      this.lane.addEventListener(end, () => (sliding = false));
  }

  play() {
    const { pane } = this;
    const { from, to } = pane.subject;
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = 0;
    } else {
      if (pane.time >= to) pane.setTime(from);
      const stride = Math.max(1, Math.round((to - from) / 300));
      this.playing = window.setInterval(
        () => {
          pane.setTime(pane.time + stride);
          if (pane.time >= to) this.play();
        },
        Math.max(33, 4000 / Math.max(1, to - from)),
      );
    }
    this.part("play").textContent = this.playing ? "❚❚" : "▶";
    this.part("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  /** The next or the previous moment at which something happened. */
  jump(direction: 1 | -1) {
    const { pane } = this;
    const moments = pane.graph.moments(pane.subject.from, pane.subject.to);
    const next =
      direction > 0
        ? moments.find((time) => time > pane.time)
        : moments.reverse().find((time) => time < pane.time);
    if (next !== undefined) pane.setTime(next);
  }

  update() {
    const { pane } = this;
    const { from, to } = pane.subject;
    const { memory, peak, live } = pane.extent;
    Object.assign(this.slider, { min: String(from), max: String(to), value: String(pane.time) });
    const [when, what] = moment(pane);
    this.part("when").textContent = when;
    this.part("what").textContent = what;
    this.slider.setAttribute("aria-valuetext", `${when}, ${what}`);
    const held = bytes(valueAt(memory, pane.time));
    this.part("meters").innerHTML =
      `<span><i class="memory"></i><b>${held}</b> saved <small>of ${bytes(peak)} at the peak</small></span>` +
      `<span><i class="live"></i><b>${number(valueAt(live, pane.time))}</b> nodes</span><small class="clock">${number(pane.time)} / ${number(to)}</small>`;
    this.draw();
  }

  draw() {
    const { pane } = this;
    if (!pane.scene) return;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!width || !height) return;
    const context = sharpen(this.canvas, width, height);
    const { colours } = pane.host;
    const drawn = [width, height, devicePixelRatio, pane.extent, colours];
    if (drawn.some((value, i) => value !== this.drawn[i])) {
      // the chart stays as it is while one slides; only the handle moves
      new Chart(
        new CanvasPen(sharpen(this.chart, width, height)),
        pane,
        width,
        height,
        colours,
      ).paint();
      this.drawn = drawn;
    }
    context.drawImage(this.chart, 0, 0, width, height);
    new Chart(new CanvasPen(context), pane, width, height, colours).handle();
  }
}

/** In words: where in the program one is. */
function moment(pane: Pane): [when: string, what: string] {
  const { graph, time } = pane;
  const { calls, events } = graph.recording;
  const call = calls.find((c) => time >= c.start && time <= c.end);
  const last = [...calls].reverse().find((c) => c.end <= time);
  const step = [...events].reverse().find((event) => event.kind === "step" && event.time <= time);
  const when =
    step?.label ??
    (call ? `${call.kind} ${call.number}` : last ? `after ${last.kind} ${last.number}` : "forward");
  if (call) {
    const failed = call.failure && time >= call.end ? " failed" : "";
    return [
      when,
      `${graph.nameOf(call)}${failed}${call.how ? `, ${call.how}` : ""}${call.place ? ` · line ${call.place.line}` : ""}`,
    ];
  }
  let newest = null;
  for (const node of pane.extent.operations)
    if (node.born <= time && (!newest || node.born > newest.born)) newest = node;
  return [
    when,
    newest
      ? `after ${newest.name}${newest.places[0] ? ` · line ${newest.places[0].line}` : ""}`
      : "",
  ];
}

class Chart {
  private base: number;
  constructor(
    private pen: Pen,
    private pane: Pane,
    private width: number,
    private height: number,
    private colours: Colours,
  ) {
    this.base = height - FOOT;
  }

  private x(time: number): number {
    const { from, to } = this.pane.subject;
    return EDGE + ((time - from) / Math.max(1, to - from)) * (this.width - 2 * EDGE);
  }

  private inside(time: number): boolean {
    return time >= this.pane.subject.from && time <= this.pane.subject.to;
  }

  paint() {
    this.steps();
    this.curves();
    for (const call of this.pane.graph.recording.calls)
      if (this.inside(call.start)) this.call(call);
    for (const event of this.pane.graph.recording.events)
      if (this.inside(event.time)) this.event(event);
  }

  /** The numbers of a report's places; those of one moment stand beside each other. */
  private pins() {
    const { pen, colours } = this;
    const pins = this.pane.host.pins.filter(({ time }) => this.inside(time));
    let last = -Infinity;
    for (const { time, text } of [...pins].sort((a, b) => a.time - b.time)) {
      const at = this.x(time);
      const x = Math.min(this.width - 8, Math.max(at, last + 17));
      last = x;
      pen.paths([[at, TOP + 8, at, this.base]], {
        stroke: colours.accent,
        width: 1.2,
        dash: [1.5, 2.5],
      });
      pen.rect(x - 8, TOP - 2, 16, 16, 8, colours.accent);
      pen.text(text, x, TOP + 6.5, { size: 10, fill: colours.bg, weight: 700, align: "center" });
    }
  }

  private event({ kind, time, label }: Mark) {
    const { pen, colours, base } = this;
    const x = this.x(time);
    if (kind === "detach")
      pen.polygon([x, base - 5, x + 4, base, x, base + 5, x - 4, base], colours.detached);
    else if (kind === "write")
      pen.polygon([x - 4, base + 4, x + 4, base + 4, x, base - 4], colours.error);
    else if (kind === "mark") {
      pen.paths([[x, TOP - 2, x, base]], { stroke: colours.accent, width: 1.2, dash: [1.5, 2.5] });
      pen.text(label, x + 4, TOP + 4, { size: 10, fill: colours.accent });
    }
  }

  private steps() {
    const { pane, pen, colours } = this;
    const steps = pane.graph.recording.events.filter((event) => event.kind === "step");
    steps.forEach((step, i) => {
      const next = steps[i + 1]?.time ?? pane.graph.recording.end;
      if (next < pane.subject.from || step.time > pane.subject.to) return;
      const [left, right] = [Math.max(0, this.x(step.time)), Math.min(this.width, this.x(next))];
      if (i % 2 && !pane.subject.nodes)
        pen.rect(left, 0, right - left, this.height, 0, colours.group2);
      const label = right - left > 60 ? step.label : step.label.replace(/^step /, "");
      if (right - left > 26) pen.text(label, left + 5, 8, { size: 10.5, fill: colours.faint });
    });
  }

  /** Corners of a curve that changes in jumps. */
  private curve(series: Series, most: number): number[] {
    const { from, to } = this.pane.subject;
    const level = (value: number) => this.base - (value / Math.max(1, most)) * (this.base - TOP);
    let y = level(valueAt(series, from));
    const points = [this.x(from), y];
    for (const [time, value] of series) {
      if (time <= from || time > to) continue;
      points.push(this.x(time), y, this.x(time), (y = level(value)));
    }
    points.push(this.x(to), y);
    return points;
  }

  private curves() {
    const { pen, colours } = this;
    const { memory, live, peak, mostLive } = this.pane.extent;
    const { from, to } = this.pane.subject;
    const saved = this.curve(memory, peak);
    pen.polygon([this.x(from), this.base, ...saved, this.x(to), this.base], colours["created-bg"]);
    pen.paths([saved], { stroke: colours.created, width: 1.5 });
    pen.paths([this.curve(live, mostLive)], { stroke: colours.soft, width: 1.2, dash: [4, 3] });
    pen.paths([[0, this.base, this.width, this.base]], { stroke: colours.line });
  }

  private call(call: Call) {
    const { pen, colours, base } = this;
    const bad = call.failure !== null;
    const x = this.x(call.start);
    const width = Math.max(bad ? 17 : 8, this.x(Math.min(call.end, this.pane.subject.to)) - x);
    const stroke = bad ? colours.error : call.retain ? colours.retained : colours.freed;
    const fill = bad ? colours["error-bg"] : call.retain ? colours["retained-bg"] : colours.hover;
    pen.rect(x, base + 5, width, 13, 3, fill, {
      stroke,
      width: bad ? 1.8 : 1.1,
      dash: call.retain || bad ? undefined : [3, 2],
    });
    const text = `${bad ? "✕ " : ""}${call.kind} ${call.number}`;
    const look = { size: 10, fill: bad ? colours.error : colours.soft, weight: bad ? 650 : 400 };
    if (width > text.length * 5.6 + 8) pen.text(text, x + 5, base + 12, look);
    else if (width > 14)
      pen.text(bad ? "✕" : String(call.number), x + width / 2, base + 12, {
        ...look,
        align: "center",
        weight: 600,
      });
    if (bad)
      pen.paths([[x + width, TOP - 4, x + width, base + 5]], {
        stroke: colours.error,
        width: 1.4,
        dash: [3, 3],
      });
  }

  handle() {
    const { pen, colours } = this;
    const x = this.x(this.pane.time);
    pen.rect(x - 0.75, 0, 1.5, this.height, 0, colours.ink);
    pen.polygon([x - 5, 0, x + 5, 0, x + 5, 5, x, 10, x - 5, 5], colours.ink);
    this.pins();
  }
}
