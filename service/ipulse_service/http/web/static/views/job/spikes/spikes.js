// Spikes of stored samples as a raster, membranes of the readout, and the rates of all neurons.
import { updateQuery } from "../../../app/router.js";
import { layerTitle, number, percent } from "../../../lib/format.js";
import "../../../charts/curve.js";
import { keptOption } from "../../../charts/chart.js";
import { raster } from "../../../charts/raster.js";
import { svg } from "../../../vendor.js";
import { Tab, documentOf, html, notYet } from "../tab.js";

const BINS = 24; // of a histogram
const MOST_OUTPUTS = 4; // of a regression that are drawn
const MOST_HEIGHT = 260; // pixels
const MOST_NAMED = 40; // neurons that a list names

class Spikes extends Tab {
  load(job, signal) {
    return documentOf(job.id, "spikes", signal);
  }

  draw(file) {
    if (!file) return notYet(this.job, "recorded spikes");
    const at = Math.max(
      0,
      file.samples.findIndex((one) => String(one.sample) === this.route?.query.get("sample")),
    );
    const sample = file.samples[at];
    const panels = sample.spikes.map((spikes, layer) => ({
      name: layer ? layerTitle(layer, file.layers[layer - 1].name) : "input",
      rows: layer ? file.layers[layer - 1].neurons : file.input.channels,
      color: layer ? `s${((layer - 1) % 8) + 1}` : "soft",
      steps: spikes.steps,
      ids: spikes.neurons,
    }));
    const times = sample.readout_membrane[0].map((_, step) => (step + 1) * file.step_ms);
    const choose = (next) => updateQuery({ sample: next.sample === file.samples[0].sample ? null : next.sample });
    return html`
      <div class="bar" role="toolbar" aria-label="Sample">
        <label class="inline">sample <select @change=${(event) => choose(file.samples[event.target.selectedIndex])}>
          ${file.samples.map((one, n) => html`<option ?selected=${n === at}>${one.sample}${one.label === null ? "" : `: true ${one.label}, predicted ${one.predicted}${one.label === one.predicted ? "" : " (wrong)"}`}</option>`)}</select></label>
        <span class="buttons"><button type="button" ?disabled=${at === 0} @click=${() => choose(file.samples[at - 1])}>Previous</button>
          <button type="button" ?disabled=${at === file.samples.length - 1} @click=${() => choose(file.samples[at + 1])}>Next</button></span>
        <span>${answer(sample)}</span>
      </div>
      <section class="card"><h2 class="visually-hidden">One sample</h2>${panels.map(
        (
          panel,
        ) => html`<div class="panel"><h3>${panel.name} <span class="soft">${number(panel.rows)} neurons, ${number(panel.steps.length)} spikes</span></h3>
        <ip-chart class="raster" .style=${`--height: ${heightOf(panel)}px`} label="Spikes of ${panel.name} over ${number(file.steps)} steps" .option=${this.picture(panel, file, sample)}></ip-chart></div>`,
      )}
        <div class="panel"><ip-curve .series=${membranes(sample, times)} .x=${"time (ms)"} .name=${sample.targets ? "readout: membrane of each output, and its target" : "readout: membrane of each class"} .unit=${""}></ip-curve></div>
      </section>
      <section class="section"><h2>Firing rates <span class="soft">of ${number(file.measured_samples)} test samples</span></h2><div class="chart-grid">
        ${file.layers.map((layer) => this.rates(layer))}</div></section>`;
  }

  picture({ name, rows, color, steps, ids }, file, sample) {
    const height = heightOf({ rows });
    return keptOption(this, name, `${this.job.id}/${sample.sample}`, () =>
      raster({ x: steps.map((step) => step + 0.5), y: ids, end: file.steps, rows, color, height }),
    );
  }

  rates(layer) {
    const title = layerTitle(layer.layer, layer.name);
    return html`<figure class="card"><figcaption><h3>${title}</h3></figcaption>${histogram(layer.firing_rates, title)}
      <p class="small">${list("dead", layer.dead, layer.neurons)}<br>${list("saturated", layer.saturated, layer.neurons)}</p></figure>`;
  }
}

/** How many neurons have which firing rate. @param {number[]} rates @param {string} title */
function histogram(rates, title) {
  const most = Math.max(...rates, 1e-6);
  const bins = new Array(BINS).fill(0);
  for (const rate of rates) bins[Math.min(BINS - 1, Math.floor((rate / most) * BINS))] += 1;
  const tallest = Math.max(...bins);
  return html`<svg class="histogram" viewBox="0 0 240 70" role="img" aria-label="${title}: number of neurons by firing rate, up to ${percent(most)}" preserveAspectRatio="none">
      ${bins.map((count, at) => svg`<rect x=${at * 10 + 0.5} width="9" y=${70 - (68 * count) / tallest} height=${(68 * count) / tallest}><title>${count} neurons: ${percent((at * most) / BINS)} to ${percent(((at + 1) * most) / BINS)}</title></rect>`)}
    </svg><p class="soft small ends"><span>0</span><span>spikes per step: ${percent(most)}</span></p>`;
}

const heightOf = ({ rows }) => Math.max(44, Math.min(MOST_HEIGHT, Math.round(1.4 * rows)));

function list(kind, neurons, all) {
  if (!neurons.length) return html`<span class="soft">No neuron is ${kind}.</span>`;
  const named = neurons.slice(0, MOST_NAMED).join(", ");
  return html`<details><summary>${number(neurons.length)} ${kind} (${percent(neurons.length / all)})</summary><span class="soft">${named}${neurons.length > MOST_NAMED ? ", …" : ""}</span></details>`;
}

function answer({ label, predicted }) {
  if (label === null) return "Solid lines are the outputs, dashed lines their targets";
  return label === predicted
    ? html`Predicted <b class="good">${predicted}</b>, which is correct`
    : html`Predicted <b class="bad">${predicted}</b>; the true class is ${label}`;
}

function outputs(sample, times) {
  const colour = (output) => `--s${1 + (output % 8)}`;
  return sample.readout_membrane.slice(0, MOST_OUTPUTS).flatMap((values, output) => [
    { id: `output ${output}`, label: `output ${output}`, x: times, y: values, color: colour(output) },
    {
      id: `target ${output}`,
      label: `target ${output}`,
      x: times,
      y: times.map((_, step) => sample.targets[output][step] ?? sample.targets[output][0]),
      color: colour(output),
      dash: [5, 4],
    },
  ]);
}

function membranes(sample, times) {
  if (sample.targets) return outputs(sample, times);
  return sample.readout_membrane.map((values, label) => ({
    id: `class ${label}`,
    label: `class ${label}${label === sample.label ? " (true)" : label === sample.predicted ? " (predicted)" : ""}`,
    x: times,
    y: values,
    color: label === sample.label ? "--s3" : label === sample.predicted ? "--s2" : "--line",
    faint: label !== sample.label && label !== sample.predicted,
  }));
}
customElements.define("ip-job-spikes", Spikes);
