// A chart of curves over a common x axis, with values, zoom, keyboard, smoothing, log scale and data.
import uPlot from "../../vendor/bundles/uplot.js";
import { LitElement, html, nothing } from "../vendor.js";
import { download, downloadCsv } from "../lib/download.js";
import { number } from "../lib/format.js";
import { onTheme } from "../lib/theme.js";
import { noPath, linePath, pointsPath } from "./paths.js";
import { aligned, extremes, smoothed, stops, valueAt } from "./points.js";
import { swatch } from "./swatch.js";
import { isWhole, logRange, rangeOf, tickTexts, wholeSteps } from "./ticks.js";

const HEIGHT = 220;
const MANY = 32; // curves: thinner lines
const SEVERAL = 8; // curves, of which the one at the pointer stands out
const NEAR = 24; // pixels
const MOST_ROWS = 2000; // of the table
const MOST_DOTTED = 10_000; // points of curves with dots at the cursor
const MOST_CELLS = 2_000_000; // of a CSV file with a column a curve
const groups = new Map(); // name -> charts with linked zoom

/**
 * @typedef {{id: string, label: string, color: string, x: ArrayLike<number>, y: ArrayLike<number | null>, dash?:
 * number[], faint?: boolean, points?: boolean, isScattered?: boolean,
 * low?: (number | null)[], high?: (number | null)[], owner?: string}} Curve `low`, `high`: a band at the same x;
 * `owner`: the curve that it belongs to; `isScattered`: no line joins its points */

class CurveChart extends LitElement {
  static properties = {
    series: { attribute: false },
    x: { attribute: false },
    name: { attribute: false },
    unit: { attribute: false },
    log: { attribute: false },
    smooth: { attribute: false },
    group: {},
    isRanked: { attribute: false },
    at: { state: true },
    near: { state: true },
    isZoomed: { state: true },
    hasTable: { state: true },
    spoken: { state: true },
  };

  constructor() {
    super();
    /** @type {Curve[]} */
    this.series = [];
    this.x = "step";
    this.name = "";
    this.unit = "";
    this.log = false;
    this.smooth = 0;
    this.group = "";
    this.isRanked = false; // the legend has the order of the last values, highest first
    this.at = null;
    this.near = null; // the curve at the pointer
    this.isZoomed = false;
    this.hasTable = false;
    this.spoken = "";
    this.hidden_ = new Set();
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.endTheme = onTheme(() => this.build());
    if (this.group) groups.set(this.group, (groups.get(this.group) ?? new Set()).add(this));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.endTheme();
    groups.get(this.group)?.delete(this);
    this.resized?.disconnect();
    this.plot?.destroy();
    this.plot = this.key = undefined;
  }

  firstUpdated() {
    this.resized = new ResizeObserver(
      () => this.plot && this.width !== this.plot.width && this.plot.setSize({ width: this.width, height: HEIGHT }),
    );
    this.resized.observe(this.box);
  }

  get box() {
    return this.querySelector(".curve-box");
  }

  get width() {
    return Math.max(200, this.box.clientWidth);
  }

  get shown() {
    return this.series.filter((one) => !this.hidden_.has(one.owner ?? one.id));
  }

  /** The curves of the legend. */
  get listed() {
    const listed = this.series.filter((one) => !one.owner);
    if (!this.isRanked) return listed;
    const last = new Map(listed.map((one) => [one, valueAt(one, Infinity) ?? -Infinity]));
    return listed.sort((a, b) => last.get(b) - last.get(a));
  }

  willUpdate(changed) {
    this.isStale = ["series", "log", "smooth", "x", "isRanked"].some((name) => changed.has(name));
    if (this.isStale) this.prepare(); // the legend shows these values
  }

  updated() {
    if (this.isStale) this.draw();
  }

  redraw() {
    this.prepare();
    this.draw();
  }

  /** The curves as they are drawn; those before smoothing first. */
  prepare() {
    const positive = (list) => (this.log && list ? Array.from(list, (value) => (value > 0 ? value : null)) : list);
    const made = (one, smooth, more) => {
      const [y, low, high] = [one.y, one.low, one.high].map((list) =>
        positive(smooth && list ? smoothed(one.x, list, smooth) : list),
      );
      return { ...one, y, low, high, ...more };
    };
    const { shown } = this;
    const raw = this.smooth ? shown.map((one) => made(one, 0, { faint: true, low: undefined, high: undefined })) : [];
    this.lines = shown.map((one) => made(one, one.faint ? 0 : this.smooth));
    this.drawn = [...raw, ...this.lines];
    const points = shown.reduce((sum, { x }) => sum + x.length, 0);
    // Each curve is drawn from points of its own; uPlot needs common ones for the dots at the cursor only.
    this.data = points > MOST_DOTTED ? [stops(shown), ...this.drawn.map(() => [])] : aligned(this.drawn);
  }

  /** New values of the same curves keep zoom and cursor. */
  draw() {
    const shown = this.shown;
    const key = JSON.stringify([
      shown.map(({ id, color, faint: f, low }) => [id, color, f, Boolean(low)]),
      this.log,
      Boolean(this.smooth),
      this.x,
    ]);
    if (this.plot && key === this.key) this.plot.setData(this.data, !this.isZoomed);
    else {
      this.key = key;
      this.build();
    }
  }

  build() {
    if (!this.data || !this.box) return;
    this.plot?.destroy();
    this.lit = null;
    const known = new Map(); // each costs a layout of the page
    const colour = (name) => known.get(name) ?? known.set(name, colourOf(this, name)).get(name);
    const axis = {
      stroke: colour("--soft"),
      font: "12px system-ui, sans-serif",
      grid: { stroke: colour("--grid"), width: 1 },
      ticks: { show: false },
    };
    const isMany = this.listed.length > MANY;
    const line = (one, n) => {
      const stroke = colour(one.color);
      const curve = () => this.drawn[n];
      return {
        label: one.label,
        stroke: one.faint ? `color-mix(in srgb, ${stroke} 38%, transparent)` : stroke,
        fill: one.low ? `color-mix(in srgb, ${stroke} 16%, transparent)` : undefined,
        width: one.faint || isMany ? 1 : 2,
        dash: one.dash,
        paths: (plot) => (one.isScattered ? noPath() : linePath(plot, curve())),
        points: {
          show: one.points || one.y.length === 1,
          size: 7,
          fill: stroke,
          paths: (plot) => pointsPath(plot, curve(), 3.5 * devicePixelRatio),
        },
      };
    };
    let part = [-Infinity, Infinity]; // of x, which uPlot asks for first
    const seenPart = (_, min, max) => {
      part = [min ?? -Infinity, max ?? Infinity];
      return [min, max];
    };
    const range = () => {
      const found = extremes(this.drawn, part[0], part[1]);
      return (this.log ? logRange : rangeOf)(found?.[0] ?? null, found?.[1] ?? null);
    };
    this.plot = new uPlot(
      {
        width: this.width,
        height: HEIGHT,
        legend: { show: false },
        padding: [8, 22, 0, 0],
        cursor: {
          y: false,
          points: { show: !isMany, size: 7 },
          ...(this.group ? { sync: { key: this.group, scales: ["x", null] } } : {}),
        },
        focus: { alpha: 0.2 },
        scales: { x: { time: false, range: seenPart }, y: { range, ...(this.log ? { distr: 3 } : {}) } },
        axes: [
          { ...axis, size: 26, grid: { show: false }, ...(isWhole(this.x) ? { incrs: wholeSteps } : {}) },
          {
            ...axis,
            size: 52,
            values: (_, ticks) =>
              this.log ? ticks.map((tick) => (tick === null ? "" : number(tick))) : tickTexts(ticks),
          },
        ],
        series: [{}, ...this.drawn.map(line)],
        hooks: {
          setCursor: [
            ({ cursor }) => {
              this.at = cursor.idx ?? null;
              this.follow(cursor);
            },
          ],
          setScale: [(plot, scale) => scale === "x" && this.zoomed(plot)],
        },
      },
      this.data,
      this.box,
    );
  }

  /** Lets the curve at the pointer stand out among several. */
  follow({ left, top }) {
    if (this.listed.length <= SEVERAL) return;
    let [best, least] = [null, NEAR];
    if (left >= 0 && top >= 0 && this.box.matches(":hover")) {
      const x = this.plot.posToVal(left, "x");
      for (const one of this.lines) {
        const value = one.owner ? null : valueAt(one, x);
        const away = value === null ? Infinity : Math.abs(this.plot.valToPos(value, "y") - top);
        if (away < least) [best, least] = [one, away];
      }
    }
    this.near = best;
    this.highlight(best?.id ?? null);
  }

  /** Draws the other curves faintly. @param {string | null} id null: none stands out */
  highlight(id) {
    if (!this.plot || this.lit === id) return;
    this.lit = id;
    const place = id === null ? -1 : this.drawn.findLastIndex((one) => one.id === id);
    this.plot.setSeries(place < 0 ? null : place + 1, { focus: place >= 0 });
  }

  zoomed({ scales: { x } }) {
    const xs = this.data[0];
    const before = this.isZoomed;
    this.isZoomed = xs.length > 1 && (x.min > xs[0] || x.max < xs.at(-1));
    if (this.isFollowing || !(before || this.isZoomed)) return;
    for (const other of groups.get(this.group) ?? []) {
      if (other !== this && other.plot && other.x === this.x) other.zoom(x.min, x.max);
    }
  }

  zoom(low, high) {
    this.isFollowing = true;
    this.plot.setScale("x", { min: low, max: high });
    setTimeout(() => {
      this.isFollowing = false;
    });
  }

  reset() {
    for (const chart of groups.get(this.group) ?? [this]) {
      if (chart.plot) chart.zoom(chart.data[0][0], chart.data[0].at(-1));
    }
  }

  key_(event) {
    const xs = this.data?.[0] ?? [];
    if (!xs.length) return;
    const { min, max } = this.plot.scales.x;
    const at = this.at ?? (event.key === "ArrowLeft" ? xs.length : -1);
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1 };
    const middle = xs[at] ?? (min + max) / 2;
    if (event.key in moves) {
      const next = Math.max(0, Math.min(xs.length - 1, moves[event.key]));
      this.plot.setCursor({ left: this.plot.valToPos(xs[next], "x"), top: 10 });
      this.spoken = `${this.x} ${number(xs[next])}: ${this.lines.flatMap((one) => (one.owner ? [] : [`${one.label} ${this.valueOf(one, next)}`])).join(", ")}`;
    } else if (event.key === "+")
      this.plot.setScale("x", { min: middle - (max - min) / 4, max: middle + (max - min) / 4 });
    else if (event.key === "-" || event.key === "Escape") this.reset();
    else return;
    event.preventDefault();
  }

  /** The value of a curve at a stop of the cursor, or its last one. */
  valueOf(one, at) {
    const value = valueAt(one, at === null ? Infinity : this.data[0][at]);
    return value === null ? "—" : `${number(value)}${this.unit === "%" ? " %" : ""}`;
  }

  isolate(one) {
    const others = this.listed.filter(({ id }) => id !== one.id);
    const isAlone = others.length > 0 && others.every(({ id }) => this.hidden_.has(id));
    this.hidden_ = new Set(isAlone ? [] : others.map(({ id }) => id));
    this.redraw();
    this.requestUpdate();
  }

  /** A column a curve; a row a point where there would be too many empty cells. */
  saveCsv() {
    const { shown } = this;
    const points = shown.reduce((sum, { x }) => sum + x.length, 0);
    const heads = [this.x, ...shown.map(({ label }) => label)];
    const isLong = points * shown.length > MOST_CELLS && stops(shown).length * shown.length > MOST_CELLS;
    const lists = isLong ? [] : aligned(shown);
    const rows = isLong
      ? shown.flatMap(({ label, x, y }) => Array.from(x, (at, place) => [label, at, y[place]]))
      : lists[0].map((_, at) => lists.map((list) => list[at]));
    downloadCsv([isLong ? ["curve", this.x, "value"] : heads, ...rows], `${this.name}.csv`);
  }

  savePng() {
    this.plot.root.querySelector("canvas").toBlob((blob) => download(blob, `${this.name}.png`));
  }

  render() {
    const drawn = new Map(this.lines?.map((one) => [one.id, one]));
    const { near } = this;
    return html`<div class="curve-head"><h3>${this.name}${this.unit ? html` <span class="soft">(${this.unit})</span>` : nothing}</h3>
        <span class="soft small">${near ? html`${near.label} <b>${this.valueOf(near, this.at)}</b> · ` : nothing}${this.at === null || !this.data ? this.x : `${this.x} ${number(this.data[0][this.at])}`}</span></div>
      <div class="curve-box" tabindex="0" role="group" aria-label="${this.name}. Arrow keys read values, plus zooms, Escape resets." @keydown=${(event) => this.key_(event)}></div>
      <p class="visually-hidden" aria-live="polite">${this.spoken}</p>
      <ul class="curve-legend">${this.listed.map((one) => {
        const line = drawn.get(one.id);
        return html`<li class=${line ? "" : "off"} @pointerenter=${() => this.highlight(one.id)} @pointerleave=${() => this.highlight(null)}><button type="button" class="ghost" title="Show only this curve" @click=${() => this.isolate(one)}>
          ${swatch(one)}<span>${one.label}</span></button> <b>${line ? this.valueOf(line, this.at) : ""}</b></li>`;
      })}</ul>
      <div class="curve-tools">
        ${this.isZoomed ? html`<button type="button" class="ghost" @click=${() => this.reset()}>Reset zoom</button>` : nothing}
        <button type="button" class="ghost" aria-expanded=${String(this.hasTable)} @click=${() => {
          this.hasTable = !this.hasTable;
        }}>Table</button>
        <button type="button" class="ghost" @click=${() => this.saveCsv()}>CSV</button><button type="button" class="ghost" @click=${() => this.savePng()}>PNG</button>
      </div>
      ${this.hasTable ? this.table(this.shown) : nothing}`;
  }

  table(shown) {
    const xs = stops(shown).slice(0, MOST_ROWS);
    const values = shown.map(({ x, y }) => new Map(Array.from(x, (at, place) => [at, y[place]])));
    return html`<div class="scroll curve-table" tabindex="0" role="region" aria-label="Values"><table><thead><tr><th scope="col">${this.x}</th>
      ${shown.map(({ label }) => html`<th scope="col">${label}</th>`)}</tr></thead>
      <tbody>${xs.map((at) => html`<tr><td>${number(at)}</td>${values.map((map) => html`<td>${number(map.get(at) ?? null)}</td>`)}</tr>`)}</tbody></table></div>`;
  }
}
customElements.define("ip-curve", CurveChart);

/**
 * A colour that a canvas understands: of a variable with light-dark().
 * @param {HTMLElement} place
 * @param {string} name
 */
function colourOf(place, name) {
  if (!name.startsWith("--")) return name;
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
