// A sample of a data set: a raster of its events, or an image of its values.
import { LitElement, html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { number } from "../../lib/format.js";
import { keptOption } from "../../charts/chart.js";
import { image, raster } from "../../charts/raster.js";

const HEIGHT = 300; // pixels, as in the style sheet

class Sample extends LitElement {
  static properties = {
    version: { attribute: false },
    at: { state: true },
    sample: { state: true },
    problem: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */
    this.version = null;
    this.at = 0; // in the list of previews
    this.sample = null;
    this.problem = "";
  }

  createRenderRoot() {
    return this;
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
      const sample = await api.get(
        `/v1/datasets/${encodeURIComponent(dataset)}/versions/${version}/samples/${previews[this.at]}`,
      );
      if (key === this.key) this.sample = sample;
      this.problem = "";
    } catch (error) {
      this.problem = error.message;
    }
  }

  /** The picture of the sample, the same while the sample is. */
  picture() {
    const { values, shape, times, event_channels: channels, end_ms: end, steps, time_unit: unit } = this.sample;
    return keptOption(this, "sample", this.key, () => {
      if (values) {
        const [rows, columns] = shape?.length === 2 ? shape : [1, values.length];
        return image(values, rows, columns);
      }
      const last = end ?? steps ?? times.reduce((most, time) => Math.max(most, time), 1);
      return raster({
        x: times,
        y: channels,
        end: last,
        rows: this.version.facts.channels,
        color: "c1",
        height: HEIGHT,
        unit,
      });
    });
  }

  render() {
    const { previews } = this.version;
    const { sample } = this;
    const step = (by) => () => {
      this.at = (this.at + by + previews.length) % previews.length;
    };
    return html`<div class="bar"><h2>Sample ${number(previews[this.at])}</h2>
        ${sample ? html`<span class="soft">${sample.label === null ? "no label" : `label ${sample.label}`}${sample.is_test ? ", test" : ""}${sample.events ? html`, ${number(sample.events)} events${sample.shown < sample.events ? `, ${number(sample.shown)} shown` : ""}` : nothing}</span>` : nothing}
        <div class="buttons right"><button type="button" @click=${step(-1)}>Previous</button><button type="button" @click=${step(1)}>Next</button></div></div>
      ${this.problem ? html`<p class="soft">${this.problem}</p>` : nothing}
      ${sample ? html`<ip-chart class=${sample.values ? "square" : ""} label=${sample.label === null ? "Sample" : `Sample with label ${sample.label}`} .option=${this.picture()}></ip-chart>` : nothing}`;
  }
}
customElements.define("ip-sample", Sample);
