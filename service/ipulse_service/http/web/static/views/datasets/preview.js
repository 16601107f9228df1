// A sample of a data set: a raster of its events, or an image of its values.
import { LitElement, html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { number } from "../../lib/format.js";
import { onTheme } from "../../lib/theme.js";
import { ticksBelow } from "../../charts/ticks.js";

const PAD = { left: 44, right: 10, top: 8, bottom: 28 };

class Sample extends LitElement {
  static properties = { version: { attribute: false }, at: { state: true }, sample: { state: true }, problem: { state: true } };

  constructor() {
    super();
    /** @type {any} */
    this.version = null;
    this.at = 0; // in the list of previews
    this.sample = null;
    this.problem = "";
    this.redraw = () => this.draw();
  }

  createRenderRoot() { return this; }

  connectedCallback() {
    super.connectedCallback();
    this.endTheme = onTheme(this.redraw);
    addEventListener("resize", this.redraw);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.endTheme();
    removeEventListener("resize", this.redraw);
  }

  willUpdate(changed) {
    if (changed.has("version") && changed.get("version")?.reference !== this.version.reference) this.at = 0;
    const key = `${this.version.reference}/${this.version.previews[this.at]}`;
    if (key === this.key) return;
    this.key = key;
    this.fetch(key);
  }

  async fetch(key) {
    const { dataset, version, previews } = this.version;
    try {
      const sample = await api.get(`/v1/datasets/${encodeURIComponent(dataset)}/versions/${version}/samples/${previews[this.at]}`);
      if (key === this.key) this.sample = sample;
      this.problem = "";
    } catch (error) {
      this.problem = error.message;
    }
  }

  updated() { this.draw(); }

  draw() {
    const canvas = this.querySelector("canvas");
    if (!canvas || !this.sample) return;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    if (this.sample.values) return this.image(pen, width, height, color);
    return this.raster(pen, width, height, color);
  }

  raster(pen, width, height, color) {
    const { times, event_channels: channels, end_ms: end, steps, time_unit: unit } = this.sample;
    const rows = this.version.facts.channels;
    const last = end ?? steps ?? (Math.max(1, ...times));
    const x = (time) => PAD.left + (time / (last || 1)) * (width - PAD.left - PAD.right);
    const y = (channel) => height - PAD.bottom - ((channel + 0.5) / rows) * (height - PAD.top - PAD.bottom);
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = color("--soft");
    pen.strokeStyle = color("--grid");
    pen.strokeRect(PAD.left, PAD.top, width - PAD.left - PAD.right, height - PAD.top - PAD.bottom);
    pen.textAlign = "center";
    for (const tick of ticksBelow(last)) pen.fillText(number(tick), x(tick), height - 10);
    pen.textAlign = "right";
    pen.fillText("0", PAD.left - 6, height - PAD.bottom);
    pen.fillText(number(rows - 1), PAD.left - 6, PAD.top + 10);
    pen.fillText(`${number(last)} ${unit}`, width - PAD.right, height - 10);
    pen.fillStyle = color("--c1");
    const size = Math.max(1.6, Math.min(4, (height - PAD.top - PAD.bottom) / rows));
    times.forEach((time, index) => pen.fillRect(x(time) - size / 2, y(channels[index]) - size / 2, size, size));
  }

  image(pen, width, height, color) {
    const { values, shape } = this.sample;
    const [rows, columns] = shape?.length === 2 ? shape : [1, values.length];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const size = Math.min((width - 20) / columns, (height - 20) / rows);
    const left = (width - size * columns) / 2;
    pen.fillStyle = color("--panel");
    pen.fillRect(left, 10, size * columns, size * rows);
    pen.fillStyle = color("--c1");
    values.forEach((value, index) => {
      pen.globalAlpha = high === low ? 1 : (value - low) / (high - low);
      pen.fillRect(left + (index % columns) * size, 10 + Math.floor(index / columns) * size, size + 0.4, size + 0.4);
    });
    pen.globalAlpha = 1;
  }

  render() {
    const { previews } = this.version;
    const { sample } = this;
    const step = (by) => () => { this.at = (this.at + by + previews.length) % previews.length; };
    return html`<div class="bar"><h2>Sample ${number(previews[this.at])}</h2>
        ${sample ? html`<span class="soft">${sample.label === null ? "no label" : `label ${sample.label}`}${sample.is_test ? ", test" : ""}${sample.events ? html`, ${number(sample.events)} events${sample.shown < sample.events ? `, ${number(sample.shown)} shown` : ""}` : nothing}</span>` : nothing}
        <div class="buttons right"><button type="button" @click=${step(-1)}>Previous</button><button type="button" @click=${step(1)}>Next</button></div></div>
      ${this.problem ? html`<p class="soft">${this.problem}</p>` : nothing}
      <canvas role="img" aria-label=${sample && sample.label !== null ? `Sample with label ${sample.label}` : "Sample"}></canvas>`;
  }
}
customElements.define("ip-sample", Sample);
