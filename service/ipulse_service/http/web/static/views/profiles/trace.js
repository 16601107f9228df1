// The execution trace: zoom, search, and sums of what is seen.
import { LitElement, html, nothing } from "../../vendor.js";
import { percent } from "../../lib/format.js";
import { onTheme } from "../../lib/theme.js";
import { firstAfter, sums } from "./trace_events.js";
import { COLORS, TracePicture, timeText } from "./trace_picture.js";

const MOST_NAMES = 10;
const MAX_ZOOM = 1e-7; // of the whole trace

class TraceView extends LitElement {
  static properties = {
    trace: { attribute: false },
    name: {},
    find: {},
    window_: { state: true },
    at: { state: true },
    seen: { state: true },
    spoken: { state: true },
  };

  constructor() {
    super();
    /** @type {import("./trace_events.js").Trace | null} */
    this.trace = null;
    this.name = "Execution trace";
    this.find = ""; // part of the names that are highlighted
    /** @type {[number, number] | null} */
    this.window_ = null; // what is seen
    /** @type {{lane: number, event: number} | null} */
    this.at = null; // the event of the pointer or keyboard
    this.seen = null; // sums of the window
    this.drag = null;
    this.spoken = "";
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.endTheme = onTheme(() => this.paint());
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.endTheme();
    this.resized?.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.summing);
  }

  firstUpdated() {
    this.resized = new ResizeObserver(() => this.paint());
    this.resized.observe(this.canvas);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** @returns {HTMLCanvasElement} */
  get canvas() {
    return this.querySelector("canvas");
  }

  get whole() {
    return /** @type {[number, number]} */ ([this.trace.begin, this.trace.end]);
  }

  get range() {
    return this.window_ ?? this.whole;
  }

  /** The names that are searched for: 1 for each, or null for all. */
  get chosen() {
    if (!this.find) return null;
    const words = this.find.toLowerCase();
    return Uint8Array.from(this.trace.names, (name) => Number(name.toLowerCase().includes(words)));
  }

  willUpdate(changed) {
    if (changed.has("trace")) {
      this.window_ = this.at = null;
      this.seen = this.trace && sums(this.trace, ...this.whole);
    }
  }

  updated(changed) {
    if (["trace", "window_", "find", "at"].some((name) => changed.has(name))) this.paint();
  }

  paint() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.isConnected && this.trace && this.draw());
  }

  /** @returns {TracePicture} */
  get picture() {
    return new TracePicture(this.canvas, this.trace, this.range);
  }

  draw() {
    this.picture.draw(this.chosen, this.at, this.drag);
  }

  time(value) {
    return timeText(this.trace, value);
  }

  /** Shows a window; the sums follow when it rests. */
  show(from, to) {
    const [begin, end] = this.whole;
    const size = Math.max((end - begin) * MAX_ZOOM, Math.min(end - begin, to - from));
    const start = Math.max(begin, Math.min(end - size, from));
    this.window_ = size >= end - begin ? null : [start, start + size];
    clearTimeout(this.summing);
    this.summing = setTimeout(() => {
      this.seen = sums(this.trace, ...this.range);
    }, 120);
  }

  zoom(factor, around = (this.range[0] + this.range[1]) / 2) {
    const [from, to] = this.range;
    this.show(around - (around - from) * factor, around + (to - around) * factor);
  }

  pan(share) {
    const [from, to] = this.range;
    const by = (to - from) * share;
    this.show(from + by, to + by);
  }

  wheel(event) {
    if (event.ctrlKey || event.metaKey) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.picture.timeAt(event.offsetX));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / 800);
    else return;
    event.preventDefault();
  }

  press(event) {
    if (event.button !== 0 || event.offsetX < this.picture.left) return;
    this.drag = { from: event.offsetX };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (this.drag) {
      this.drag.to = Math.max(this.picture.left, Math.min(this.canvas.clientWidth, event.offsetX));
      this.paint();
    } else this.at = this.picture.eventAt(event.offsetX, event.offsetY);
  }

  release(event) {
    const { drag } = this;
    this.drag = null;
    if (drag?.to !== undefined && Math.abs(drag.to - drag.from) > 4) {
      const [a, b] = [drag.from, drag.to].map((x) => this.picture.timeAt(x)).sort((one, other) => one - other);
      this.show(a, b);
    } else if (drag) {
      this.at = this.picture.eventAt(event.offsetX, event.offsetY);
      if (this.at) this.choose(this.trace.names[this.trace.lanes[this.at.lane].names[this.at.event]]);
    }
    this.paint();
  }

  choose(name) {
    this.dispatchEvent(new CustomEvent("choose", { detail: name, bubbles: true }));
  }

  key_(event) {
    const moves = { ArrowLeft: -0.2, ArrowRight: 0.2, PageUp: -1, PageDown: 1 };
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "Escape" || event.key === "Home") this.show(...this.whole);
    else if (event.key === "n" || event.key === "p") this.step(event.key === "n" ? 1 : -1);
    else if (event.key in moves) this.pan(moves[event.key]);
    else return;
    event.stopPropagation();
    event.preventDefault();
  }

  /** Goes to the next or former event, of those searched for if there is a search. */
  step(by) {
    const { chosen } = this;
    const row = this.at?.lane ?? 0;
    const lane = this.trace.lanes[row];
    let at = this.at ? this.at.event + by : firstAfter(lane, this.range[0]);
    while (at >= 0 && at < lane.count && chosen && !chosen[lane.names[at]]) at += by;
    if (at < 0 || at >= lane.count) return;
    this.at = { lane: row, event: at };
    this.spoken = this.said();
    const [from, to] = this.range;
    if (lane.starts[at] < from || lane.ends[at] > to) {
      const size = Math.min(to - from, Math.max(8 * (lane.ends[at] - lane.starts[at]), (to - from) / 64));
      this.show(lane.starts[at] - size / 2, lane.starts[at] + size / 2);
    }
  }

  /** What the pointer or the keyboard is at, in words. */
  said() {
    if (!this.at)
      return `${this.trace.lanes.reduce((sum, { count }) => sum + count, 0).toLocaleString("en")} events. Drag to zoom; arrows move, + and − zoom, n and p go from event to event.`;
    const lane = this.trace.lanes[this.at.lane];
    const { event } = this.at;
    return `${lane.title}: ${this.trace.names[lane.names[event]]}, ${this.trace.kinds[lane.kinds[event]]}, ${this.time(lane.ends[event] - lane.starts[event])} ${
      this.trace.unit === "cycles" ? "cycles " : ""
    }from ${this.time(lane.starts[event] - this.trace.begin)}`;
  }

  render() {
    if (!this.trace) return nothing;
    const isZoomed = this.window_ !== null;
    return html`<div class="bar" role="toolbar" aria-label="${this.name}">
        <input type="search" placeholder="find a step" aria-label="Find a step" .value=${this.find} @input=${(event) => this.choose(event.target.value)}>
        ${
          this.find
            ? html`<button type="button" @click=${() => this.step(-1)}>Previous</button><button type="button" @click=${() => this.step(1)}>Next</button>
          <span class="soft small">${this.matchingText()}</span>`
            : nothing
        }
        <span class="buttons right"><button type="button" class="icon" aria-label="Zoom in" @click=${() => this.zoom(0.5)}>+</button><button type="button" class="icon" aria-label="Zoom out" ?disabled=${!isZoomed} @click=${() => this.zoom(2)}>−</button>
        <button type="button" ?disabled=${!isZoomed} @click=${() => this.show(...this.whole)}>All</button></span></div>
      <canvas class="trace-canvas" tabindex="0" role="group" aria-label="${this.name}: ${this.trace.lanes.length} lanes. Arrow keys move, plus and minus zoom, n and p go from event to event."
        @keydown=${(event) => this.key_(event)} @pointerdown=${(event) => this.press(event)} @pointermove=${(event) => this.move(event)}
        @pointerup=${(event) => this.release(event)} @pointerleave=${() => {
          if (!this.drag) this.at = null;
        }}></canvas>
      <p class="soft small trace-said">${this.said()}</p><p class="visually-hidden" aria-live="polite">${this.spoken}</p>
      ${this.statistics()}`;
  }

  matchingText() {
    const { chosen } = this;
    const executions = chosen ? this.seen.counts.reduce((sum, count, name) => sum + (chosen[name] ? count : 0), 0) : 0;
    return `${executions.toLocaleString("en")} events in view`;
  }

  /** The time of what is seen: by kind, and of the most expensive steps. */
  statistics() {
    const { seen, trace } = this;
    const total = seen.byKind.reduce((sum, one) => sum + one, 0) || 1;
    const names = Array.from(seen.byName, (time, name) => ({ name, time }))
      .filter(({ time }) => time)
      .sort((a, b) => b.time - a.time)
      .slice(0, MOST_NAMES);
    return html`<ul class="stack-legend trace-legend">${trace.kinds.map((kind, at) => (seen.byKind[at] ? html`<li><i .style=${`background: var(${COLORS[at % COLORS.length]})`}></i>${kind} <b>${percent(seen.byKind[at] / total)}</b></li>` : nothing))}</ul>
      <details class="trace-sums"><summary>Most time in view: ${seen.events.toLocaleString("en")} events</summary>
        <table class="plain"><thead><tr><th scope="col">Step</th><th scope="col" class="number">Events</th><th scope="col" class="number">${trace.unit === "cycles" ? "Cycles" : "Time"}</th><th scope="col" class="number">Share</th></tr></thead>
        <tbody>${names.map(
          ({
            name,
            time,
          }) => html`<tr><th scope="row"><button type="button" class="ghost" @click=${() => this.choose(trace.names[name])}>${trace.names[name]}</button></th>
          <td class="number">${seen.counts[name].toLocaleString("en")}</td><td class="number">${this.time(time)}</td><td class="number">${percent(time / total)}</td></tr>`,
        )}</tbody></table></details>`;
  }
}
customElements.define("ip-trace", TraceView);
