// A chart of curves over a common x axis, with values, zoom, keyboard, smoothing, log scale and data.
import uPlot from "../../vendor/bundles/uplot.js";
import { LitElement, html, nothing } from "../vendor.js";
import { download, downloadCsv } from "../lib/download.js";
import { number } from "../lib/format.js";
import { onTheme } from "../lib/theme.js";
import { aligned, smoothed } from "./points.js";
import { isWhole, rangeOf, tickTexts, wholeSteps } from "./ticks.js";

const HEIGHT = 220;
const groups = new Map(); // name -> charts with linked zoom

/**
 * @typedef {{id: string, label: string, color: string, x: ArrayLike<number>, y: ArrayLike<number | null>, dash?:
 * number[], faint?: boolean, points?: boolean,
 * low?: (number | null)[], high?: (number | null)[], owner?: string}} Curve `low`, `high`: a band at the same x;
 * `owner`: the curve that it belongs to */

class CurveChart extends LitElement {
  static properties = {
    series: { attribute: false },
    x: { attribute: false },
    name: { attribute: false },
    unit: { attribute: false },
    log: { attribute: false },
    smooth: { attribute: false },
    group: {},
    at: { state: true },
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
    this.at = null;
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

  get listed() {
    return this.series.filter((one) => !one.owner);
  }

  get banded() {
    return this.shown.filter((one) => one.low);
  }

  willUpdate(changed) {
    this.isStale = ["series", "log", "smooth", "x"].some((name) => changed.has(name));
    if (this.isStale) this.prepare(); // the legend shows these values
  }

  updated() {
    if (this.isStale) this.draw();
  }

  redraw() {
    this.prepare();
    this.draw();
  }

  prepare() {
    const shown = this.shown;
    const { banded } = this;
    const raw = aligned([
      ...shown,
      ...banded.flatMap(({ x, low, high }) => [
        { x, y: low },
        { x, y: high },
      ]),
    ]);
    const edges = raw
      .splice(shown.length + 1)
      .map((list) => (this.smooth ? smoothed(raw[0], list, this.smooth) : list));
    const lines = this.smooth
      ? shown.map((one, n) => (one.faint ? raw[n + 1] : smoothed(raw[0], raw[n + 1], this.smooth)))
      : raw.slice(1);
    const faint = this.smooth ? raw.slice(1) : [];
    const positive = (list) => (this.log ? list.map((value) => (value > 0 ? value : null)) : list);
    this.data = [raw[0], ...[...edges, ...faint, ...lines].map(positive)];
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
    const known = new Map(); // each costs a layout of the page
    const colour = (name) => known.get(name) ?? known.set(name, colourOf(this, name)).get(name);
    const axis = {
      stroke: colour("--soft"),
      font: "12px system-ui, sans-serif",
      grid: { stroke: colour("--grid"), width: 1 },
      ticks: { show: false },
    };
    const line = (one, isRaw) => {
      const stroke = colour(one.color);
      return {
        label: one.label,
        stroke: one.faint || isRaw ? `color-mix(in srgb, ${stroke} 38%, transparent)` : stroke,
        width: one.faint || isRaw ? 1 : 2,
        dash: one.dash,
        spanGaps: true,
        points: { show: one.points || one.y.length === 1, size: 7, fill: stroke },
      };
    };
    const { shown, banded } = this;
    const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };
    this.plot = new uPlot(
      {
        width: this.width,
        height: HEIGHT,
        legend: { show: false },
        padding: [8, 22, 0, 0],
        cursor: {
          y: false,
          points: { size: 7 },
          ...(this.group ? { sync: { key: this.group, scales: ["x", null] } } : {}),
        },
        scales: { x: { time: false }, y: this.log ? { distr: 3 } : { range: (_, low, high) => rangeOf(low, high) } },
        axes: [
          { ...axis, size: 26, grid: { show: false }, ...(isWhole(this.x) ? { incrs: wholeSteps } : {}) },
          {
            ...axis,
            size: 52,
            values: (_, ticks) =>
              this.log ? ticks.map((tick) => (tick === null ? "" : number(tick))) : tickTexts(ticks),
          },
        ],
        bands: banded.map((one, n) => ({
          series: [2 * n + 2, 2 * n + 1],
          fill: `color-mix(in srgb, ${colour(one.color)} 16%, transparent)`,
        })),
        series: [
          {},
          ...banded.flatMap(() => [edge, edge]),
          ...(this.smooth ? shown.map((one) => line(one, true)) : []),
          ...shown.map((one) => line(one, false)),
        ],
        hooks: {
          setCursor: [
            ({ cursor }) => {
              this.at = cursor.idx ?? null;
            },
          ],
          setScale: [(plot, scale) => scale === "x" && this.zoomed(plot)],
        },
      },
      this.data,
      this.box,
    );
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
      this.spoken = `${this.x} ${number(xs[next])}: ${this.shown.flatMap((one, n) => (one.owner ? [] : [`${one.label} ${this.valueOf(n, next)}`])).join(", ")}`;
    } else if (event.key === "+")
      this.plot.setScale("x", { min: middle - (max - min) / 4, max: middle + (max - min) / 4 });
    else if (event.key === "-" || event.key === "Escape") this.reset();
    else return;
    event.preventDefault();
  }

  /** The value of a curve at a place, or the last one before it. */
  valueOf(n, at) {
    const list = this.data?.[this.data.length - this.shown.length + n] ?? [];
    for (let place = Math.min(at ?? list.length - 1, list.length - 1); place >= 0; place -= 1) {
      if (list[place] !== null && list[place] !== undefined)
        return `${number(list[place])}${this.unit === "%" ? " %" : ""}`;
    }
    return "—";
  }

  isolate(one) {
    const others = this.listed.filter(({ id }) => id !== one.id);
    const isAlone = others.length > 0 && others.every(({ id }) => this.hidden_.has(id));
    this.hidden_ = new Set(isAlone ? [] : others.map(({ id }) => id));
    this.redraw();
    this.requestUpdate();
  }

  saveCsv() {
    const lists = aligned(this.shown);
    const heads = [this.x, ...this.shown.map(({ label }) => label)];
    downloadCsv([heads, ...lists[0].map((_, at) => lists.map((list) => list[at]))], `${this.name}.csv`);
  }

  savePng() {
    this.plot.root.querySelector("canvas").toBlob((blob) => download(blob, `${this.name}.png`));
  }

  render() {
    const shown = this.shown;
    return html`<div class="curve-head"><h3>${this.name}${this.unit ? html` <span class="soft">(${this.unit})</span>` : nothing}</h3>
        <span class="soft small">${this.at === null || !this.data ? this.x : `${this.x} ${number(this.data[0][this.at])}`}</span></div>
      <div class="curve-box" tabindex="0" role="group" aria-label="${this.name}. Arrow keys read values, plus zooms, Escape resets." @keydown=${(event) => this.key_(event)}></div>
      <p class="visually-hidden" aria-live="polite">${this.spoken}</p>
      <ul class="curve-legend">${this.listed.map((one) => {
        const n = shown.indexOf(one);
        return html`<li class=${n < 0 ? "off" : ""}><button type="button" class="ghost" title="Show only this curve" @click=${() => this.isolate(one)}>
          <i .style=${`background: ${one.color.startsWith("--") ? `var(${one.color})` : one.color}; opacity: ${one.faint ? 0.45 : 1}`}></i>${one.label}</button> <b>${n < 0 ? "" : this.valueOf(n, this.at)}</b></li>`;
      })}</ul>
      <div class="curve-tools">
        ${this.isZoomed ? html`<button type="button" class="ghost" @click=${() => this.reset()}>Reset zoom</button>` : nothing}
        <button type="button" class="ghost" aria-expanded=${String(this.hasTable)} @click=${() => {
          this.hasTable = !this.hasTable;
        }}>Table</button>
        <button type="button" class="ghost" @click=${() => this.saveCsv()}>CSV</button><button type="button" class="ghost" @click=${() => this.savePng()}>PNG</button>
      </div>
      ${this.hasTable ? this.table(shown) : nothing}`;
  }

  table(shown) {
    const lists = aligned(shown);
    return html`<div class="scroll curve-table" tabindex="0" role="region" aria-label="Values"><table><thead><tr><th scope="col">${this.x}</th>
      ${shown.map(({ label }) => html`<th scope="col">${label}</th>`)}</tr></thead>
      <tbody>${lists[0].slice(0, 2000).map((_, at) => html`<tr>${lists.map((list) => html`<td>${number(list[at])}</td>`)}</tr>`)}</tbody></table></div>`;
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
