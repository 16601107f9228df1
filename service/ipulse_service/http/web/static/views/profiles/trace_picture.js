// The picture of an execution trace on a canvas: a lane an IPU or thread, the axis, and what is marked.
import { number, shortDuration } from "../../lib/format.js";
import { columns, firstAfter } from "./trace_events.js";

const GAP = 8; // pixels between lanes
const AXIS = 22; // pixels of height
export const COLORS = ["--s1", "--s2", "--s6", "--s3", "--s4", "--s5", "--s7", "--s8"]; // of the kinds

/** A time or duration of a trace in words. @param {import("./trace_events.js").Trace} trace @param {number} value */
export const timeText = ({ unit }, value) =>
  unit === "cycles" ? number(Math.round(value)) : shortDuration(value / 1e6);

/**
 * A trace on a canvas: where its lanes are, and how they are drawn.
 *
 * It is not a custom series of ECharts, which keeps an object for each rectangle. With 100,000 events in 4 lanes on
 * 1,200 pixels a zoom in Chromium takes 65 ms here, 0.8 s with a custom series of the same columns (17,560
 * rectangles), and 8 s with a custom series of the events, on one busy machine. Nor is it a series of uPlot, which
 * fills one path of all columns: 0.3 to 1.2 s, and as long for each move of the pointer, where these rectangles took
 * 15 ms.
 */
export class TracePicture {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./trace_events.js").Trace} trace
   * @param {[number, number]} window what is seen
   */
  constructor(canvas, trace, [from, to]) {
    this.canvas = canvas;
    this.trace = trace;
    this.from = from;
    this.to = to;
    this.lane = trace.lanes.length < 3 ? 72 : 34; // pixels of height
    this.left = trace.lanes.every(({ title }) => title.length < 7) ? 48 : 96; // pixels of the lanes' titles
    this.width = canvas.clientWidth - this.left;
    this.height = trace.lanes.length * (this.lane + GAP) + AXIS;
  }

  timeAt(x) {
    return this.from + ((x - this.left) / this.width) * (this.to - this.from);
  }

  x(time) {
    return this.left + ((time - this.from) / (this.to - this.from)) * this.width;
  }

  top(row) {
    return row * (this.lane + GAP);
  }

  /** The event at a place in pixels. @returns {{lane: number, event: number} | null} */
  eventAt(x, y) {
    const row = Math.floor(y / (this.lane + GAP));
    const lane = this.trace.lanes[row];
    if (!lane || x < this.left) return null;
    const event = firstAfter(lane, this.timeAt(x));
    return event < lane.count && lane.starts[event] <= this.timeAt(x) ? { lane: row, event } : null;
  }

  /**
   * Draws everything.
   * @param {Uint8Array | null} chosen 1 for names that are not faint
   * @param {{lane: number, event: number} | null} at the framed event
   * @param {{from: number, to?: number} | null} drag pixels that the pointer has passed over
   */
  draw(chosen, at, drag) {
    const { canvas, trace, width, height } = this;
    if (width <= 0) return;
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
    const fills = trace.kinds.map((_, kind) => color(COLORS[kind % COLORS.length]));
    trace.lanes.forEach((lane, row) => {
      const top = this.top(row);
      context.fillStyle = color("--soft");
      context.fillText(lane.title, 0, top + this.lane / 2, this.left - 8);
      context.fillStyle = color("--panel");
      context.fillRect(this.left, top, width, this.lane);
      if (chosen) {
        context.globalAlpha = 0.16;
        this.drawLane(context, lane, null, fills, top, scale);
        context.globalAlpha = 1;
      }
      this.drawLane(context, lane, chosen, fills, top, scale);
      this.drawNames(context, lane, top, color);
    });
    this.drawAxis(context, color);
    if (at) this.drawFrame(context, at, color);
    if (drag?.to !== undefined) {
      context.globalAlpha = 0.2;
      context.fillStyle = color("--c1");
      context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), height - AXIS);
      context.globalAlpha = 1;
    }
  }

  /** Pixels with several events are divided by the time of each kind. */
  drawLane(context, lane, chosen, fills, top, scale) {
    const pixels = Math.round(this.width * scale);
    const shares = columns(this.trace, lane, this.from, this.to, pixels, chosen);
    const kinds = fills.length;
    for (let kind = 0; kind < kinds; kind += 1) {
      context.fillStyle = fills[kind];
      for (let x = 0; x < pixels; x += 1) {
        const share = shares[x * kinds + kind];
        if (share < 0.004) continue;
        let below = 0;
        for (let other = 0; other < kind; other += 1) below += shares[x * kinds + other];
        context.fillRect(
          this.left + x / scale,
          top + this.lane * (1 - Math.min(1, below + share)),
          1 / scale,
          this.lane * Math.min(1, share),
        );
      }
    }
  }

  /** The names of events that have room for them. */
  drawNames(context, lane, top, color) {
    const { from, to } = this;
    context.fillStyle = color("--card");
    let drawn = 0;
    for (let at = firstAfter(lane, from); at < lane.count && lane.starts[at] < to && drawn < 200; at += 1) {
      const left = this.x(Math.max(from, lane.starts[at]));
      const room = this.x(Math.min(to, lane.ends[at])) - left - 8;
      if (room < 40) {
        if ((to - from) / lane.count < 1 && at > 20_000) return; // far too many to have room
        continue;
      }
      const name = this.trace.names[lane.names[at]];
      const text =
        context.measureText(name).width <= room ? name : `${name.slice(0, Math.max(2, Math.floor(room / 7) - 1))}…`;
      context.fillText(text, left + 4, top + this.lane / 2);
      if (left > this.left) context.fillRect(left - 0.5, top, 1, this.lane); // between events of one colour
      drawn += 1;
    }
  }

  drawAxis(context, color) {
    const count = Math.max(2, Math.min(8, Math.floor(this.width / 130)));
    context.fillStyle = color("--soft");
    for (let tick = 0; tick <= count; tick += 1) {
      const x = this.left + (this.width * tick) / count;
      context.textAlign = tick === 0 ? "left" : tick === count ? "right" : "center";
      context.fillText(timeText(this.trace, this.timeAt(x) - this.trace.begin), x, this.height - AXIS / 2 + 2);
    }
    context.textAlign = "left";
  }

  drawFrame(context, { lane: row, event }, color) {
    const lane = this.trace.lanes[row];
    const left = Math.max(this.left, this.x(lane.starts[event]));
    const right = Math.min(this.left + this.width, this.x(lane.ends[event]));
    context.strokeStyle = color("--ink");
    context.lineWidth = 2;
    context.strokeRect(left, this.top(row) + 1, Math.max(2, right - left), this.lane - 2);
  }
}
