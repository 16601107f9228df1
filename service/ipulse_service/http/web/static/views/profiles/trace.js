// The execution trace: a lane an IPU or thread, drawn on a canvas; zoom, search, and sums of what is seen.
import { LitElement, html, nothing } from "../../vendor.js";
import { number, percent, shortDuration } from "../../lib/format.js";
import { columns, firstAfter, sums } from "./trace_events.js";

const GAP = 8;
const AXIS = 22;
const COLORS = ["--s1", "--s2", "--s6", "--s3", "--s4", "--s5", "--s7", "--s8"];
const MOST_NAMES = 10;
const MAX_ZOOM = 1e-7; // of the whole trace

class TraceView extends LitElement {
  static properties = { trace: { attribute: false }, name: {}, find: {}, window_: { state: true }, at: { state: true }, seen: { state: true }, spoken: { state: true } };

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
    this.lane = 34; // pixels of height
    this.left = 96; // pixels of the lanes' titles
    this.retheme = () => this.paint();
  }

  createRenderRoot() { return this; }

  connectedCallback() {
    super.connectedCallback();
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.theme.addEventListener("change", this.retheme);
    addEventListener("theme-changed", this.retheme);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.theme.removeEventListener("change", this.retheme);
    removeEventListener("theme-changed", this.retheme);
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
  get canvas() { return this.querySelector("canvas"); }

  get whole() { return /** @type {[number, number]} */ ([this.trace.begin, this.trace.end]); }

  get range() { return this.window_ ?? this.whole; }

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

  draw() {
    const { canvas, trace, chosen } = this;
    this.lane = trace.lanes.length < 3 ? 72 : 34;
    this.left = trace.lanes.every(({ title }) => title.length < 7) ? 48 : 96;
    const width = canvas.clientWidth - this.left;
    if (width <= 0) return;
    const height = trace.lanes.length * (this.lane + GAP) + AXIS;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round((width + this.left) * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
    const style = getComputedStyle(canvas);
    const color = (name) => style.getPropertyValue(name).trim();
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = `12px ${style.fontFamily}`;
    context.textBaseline = "middle";
    const [from, to] = this.range;
    const pixels = Math.round(width * scale);
    const fills = trace.kinds.map((_, kind) => color(COLORS[kind % COLORS.length]));
    trace.lanes.forEach((lane, row) => {
      const top = row * (this.lane + GAP);
      context.fillStyle = color("--soft");
      context.fillText(lane.title, 0, top + this.lane / 2, this.left - 8);
      context.fillStyle = color("--panel");
      context.fillRect(this.left, top, width, this.lane);
      if (chosen) {
        context.globalAlpha = 0.16;
        this.drawLane(context, columns(trace, lane, from, to, pixels, null), fills, top, scale);
        context.globalAlpha = 1;
      }
      this.drawLane(context, columns(trace, lane, from, to, pixels, chosen), fills, top, scale);
      this.drawNames(context, lane, top, width, color);
    });
    this.drawAxis(context, width, height, color);
    this.drawMarks(context, width, height, color);
  }

  /** Pixels with several events are divided by the time of each kind. */
  drawLane(context, shares, fills, top, scale) {
    const kinds = fills.length;
    const pixels = shares.length / kinds;
    for (let kind = 0; kind < kinds; kind += 1) {
      context.fillStyle = fills[kind];
      for (let x = 0; x < pixels; x += 1) {
        const share = shares[x * kinds + kind];
        if (share < 0.004) continue;
        let below = 0;
        for (let other = 0; other < kind; other += 1) below += shares[x * kinds + other];
        context.fillRect(this.left + x / scale, top + this.lane * (1 - Math.min(1, below + share)), 1 / scale, this.lane * Math.min(1, share));
      }
    }
  }

  /** The names of events that have room for them. */
  drawNames(context, lane, top, width, color) {
    const [from, to] = this.range;
    const perUnit = width / (to - from);
    context.fillStyle = color("--card");
    let drawn = 0;
    for (let at = firstAfter(lane, from); at < lane.count && lane.starts[at] < to && drawn < 200; at += 1) {
      const left = this.left + (Math.max(from, lane.starts[at]) - from) * perUnit;
      const room = (Math.min(to, lane.ends[at]) - Math.max(from, lane.starts[at])) * perUnit - 8;
      if (room < 40) {
        if ((to - from) / lane.count < 1 && at > 20_000) return; // far too many to have room
        continue;
      }
      const name = this.trace.names[lane.names[at]];
      const text = context.measureText(name).width <= room ? name : `${name.slice(0, Math.max(2, Math.floor(room / 7) - 1))}…`;
      context.fillText(text, left + 4, top + this.lane / 2);
      if (left > this.left) context.fillRect(left - 0.5, top, 1, this.lane); // between events of one colour
      drawn += 1;
    }
  }

  drawAxis(context, width, height, color) {
    const [from, to] = this.range;
    const count = Math.max(2, Math.min(8, Math.floor(width / 130)));
    context.fillStyle = color("--soft");
    for (let tick = 0; tick <= count; tick += 1) {
      const text = this.time(from + ((to - from) * tick) / count - this.trace.begin);
      const x = this.left + (width * tick) / count;
      context.textAlign = tick === 0 ? "left" : tick === count ? "right" : "center";
      context.fillText(text, x, height - AXIS / 2 + 2);
    }
    context.textAlign = "left";
  }

  drawMarks(context, width, height, color) {
    const [from, to] = this.range;
    const x = (time) => this.left + ((time - from) / (to - from)) * width;
    if (this.at) {
      const lane = this.trace.lanes[this.at.lane];
      const left = Math.max(this.left, x(lane.starts[this.at.event]));
      const right = Math.min(this.left + width, x(lane.ends[this.at.event]));
      context.strokeStyle = color("--ink");
      context.lineWidth = 2;
      context.strokeRect(left, this.at.lane * (this.lane + GAP) + 1, Math.max(2, right - left), this.lane - 2);
    }
    if (this.drag?.to !== undefined) {
      context.globalAlpha = 0.2;
      context.fillStyle = color("--c1");
      context.fillRect(Math.min(this.drag.from, this.drag.to), 0, Math.abs(this.drag.to - this.drag.from), height - AXIS);
      context.globalAlpha = 1;
    }
  }

  time(value) { return this.trace.unit === "cycles" ? number(Math.round(value)) : shortDuration(value / 1e6); }

  timeAt(x) {
    const [from, to] = this.range;
    return from + ((x - this.left) / (this.canvas.clientWidth - this.left)) * (to - from);
  }

  /** Shows a window; the sums follow when it rests. */
  show(from, to) {
    const [begin, end] = this.whole;
    const size = Math.max((end - begin) * MAX_ZOOM, Math.min(end - begin, to - from));
    const start = Math.max(begin, Math.min(end - size, from));
    this.window_ = size >= end - begin ? null : [start, start + size];
    clearTimeout(this.summing);
    this.summing = setTimeout(() => { this.seen = sums(this.trace, ...this.range); }, 120);
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
    if (event.ctrlKey || event.metaKey) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / 800);
    else return;
    event.preventDefault();
  }

  press(event) {
    if (event.button !== 0 || event.offsetX < this.left) return;
    this.drag = { from: event.offsetX };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (this.drag) {
      this.drag.to = Math.max(this.left, Math.min(this.canvas.clientWidth, event.offsetX));
      this.paint();
    } else this.at = this.eventAt(event.offsetX, event.offsetY);
  }

  release(event) {
    const { drag } = this;
    this.drag = null;
    if (drag?.to !== undefined && Math.abs(drag.to - drag.from) > 4) {
      const [a, b] = [this.timeAt(drag.from), this.timeAt(drag.to)].sort((one, other) => one - other);
      this.show(a, b);
    } else if (drag) {
      this.at = this.eventAt(event.offsetX, event.offsetY);
      if (this.at) this.choose(this.trace.names[this.trace.lanes[this.at.lane].names[this.at.event]]);
    }
    this.paint();
  }

  eventAt(x, y) {
    const row = Math.floor(y / (this.lane + GAP));
    const lane = this.trace.lanes[row];
    if (!lane || x < this.left) return null;
    const event = firstAfter(lane, this.timeAt(x));
    return event < lane.count && lane.starts[event] <= this.timeAt(x) ? { lane: row, event } : null;
  }

  choose(name) { this.dispatchEvent(new CustomEvent("choose", { detail: name, bubbles: true })); }

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
    if (!this.at) return `${this.trace.lanes.reduce((sum, { count }) => sum + count, 0).toLocaleString("en")} events. Drag to zoom; arrows move, + and − zoom, n and p go from event to event.`;
    const lane = this.trace.lanes[this.at.lane];
    const { event } = this.at;
    return `${lane.title}: ${this.trace.names[lane.names[event]]}, ${this.trace.kinds[lane.kinds[event]]}, ${this.time(lane.ends[event] - lane.starts[event])} ${
      this.trace.unit === "cycles" ? "cycles " : ""}from ${this.time(lane.starts[event] - this.trace.begin)}`;
  }

  render() {
    if (!this.trace) return nothing;
    const isZoomed = this.window_ !== null;
    return html`<div class="trace-bar bar" role="toolbar" aria-label="${this.name}">
        <input type="search" placeholder="find a step" aria-label="Find a step" .value=${this.find} @input=${(event) => this.choose(event.target.value)}>
        ${this.find ? html`<button type="button" @click=${() => this.step(-1)}>Previous</button><button type="button" @click=${() => this.step(1)}>Next</button>
          <span class="soft small">${this.matches()}</span>` : nothing}
        <span class="buttons right"><button type="button" class="icon" aria-label="Zoom in" @click=${() => this.zoom(0.5)}>+</button><button type="button" class="icon" aria-label="Zoom out" ?disabled=${!isZoomed} @click=${() => this.zoom(2)}>−</button>
        <button type="button" ?disabled=${!isZoomed} @click=${() => this.show(...this.whole)}>All</button></span></div>
      <canvas class="trace-canvas" tabindex="0" role="group" aria-label="${this.name}: ${this.trace.lanes.length} lanes. Arrow keys move, plus and minus zoom, n and p go from event to event."
        @keydown=${(event) => this.key_(event)} @pointerdown=${(event) => this.press(event)} @pointermove=${(event) => this.move(event)}
        @pointerup=${(event) => this.release(event)} @pointerleave=${() => { if (!this.drag) this.at = null; }}></canvas>
      <p class="soft small trace-said">${this.said()}</p><p class="visually-hidden" aria-live="polite">${this.spoken}</p>
      ${this.statistics()}`;
  }

  matches() {
    const { chosen } = this;
    const executions = chosen ? this.seen.counts.reduce((sum, count, name) => sum + (chosen[name] ? count : 0), 0) : 0;
    return `${executions.toLocaleString("en")} events in view`;
  }

  /** The time of what is seen: by kind, and of the most expensive steps. */
  statistics() {
    const { seen, trace } = this;
    const total = seen.byKind.reduce((sum, one) => sum + one, 0) || 1;
    const names = Array.from(seen.byName, (time, name) => ({ name, time })).filter(({ time }) => time).sort((a, b) => b.time - a.time).slice(0, MOST_NAMES);
    return html`<ul class="stack-legend trace-legend">${trace.kinds.map((kind, at) => (seen.byKind[at] ? html`<li><i .style=${`background: var(${COLORS[at % COLORS.length]})`}></i>${kind} <b>${percent(seen.byKind[at] / total)}</b></li>` : nothing))}</ul>
      <details class="trace-sums"><summary>Most time in view: ${seen.events.toLocaleString("en")} events</summary>
        <table class="plain"><thead><tr><th scope="col">Step</th><th scope="col" class="number">Events</th><th scope="col" class="number">${trace.unit === "cycles" ? "Cycles" : "Time"}</th><th scope="col" class="number">Share</th></tr></thead>
        <tbody>${names.map(({ name, time }) => html`<tr><th scope="row"><button type="button" class="ghost" @click=${() => this.choose(trace.names[name])}>${trace.names[name]}</button></th>
          <td class="number">${seen.counts[name].toLocaleString("en")}</td><td class="number">${this.time(time)}</td><td class="number">${percent(time / total)}</td></tr>`)}</tbody></table></details>`;
  }
}
customElements.define("ip-trace", TraceView);
