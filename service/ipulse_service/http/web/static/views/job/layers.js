// One row a layer: size, activity, and time.
import { bytes, layerTitle, number, percent, plain, shortDuration } from "../../lib/format.js";
import { specSchema, withoutDefaults } from "../../lib/schema.js";
import { empty } from "../../parts/states.js";
import { Tab, documentOf, html, notYet, nothing } from "./tab.js";

const MOST_VALUES = 4; // of a list in a table

class Layers extends Tab {
  async load(job, signal) {
    const [profile, spikes, schema] = await Promise.all([
      documentOf(job.id, "profile", signal),
      documentOf(job.id, "spikes", signal),
      specSchema(),
    ]);
    return { profile, spikes, network: withoutDefaults(job.spec, schema).network };
  }

  draw({ profile, spikes, network }) {
    if (!profile) return this.planned(network);
    const times = new Map((profile.execution.runs[0]?.layers?.layers ?? []).map((one) => [String(one.layer), one]));
    const step = profile.execution.runs[0]?.steps.seconds.mean;
    const activity = new Map(profile.activity.layers.map((one) => [String(one.layer), one]));
    const counted = new Map((spikes?.layers ?? []).map((one) => [String(one.layer), one]));
    const rows = this.layers(network).map((layer) => ({
      ...layer,
      ...cells(activity.get(layer.name), counted.get(layer.name), times.get(layer.name), step),
    }));
    const heads = [
      ["neurons", "Neurons"],
      ["weights", "Weights"],
      ["rate", "Firing rate"],
      ["dead", "Dead"],
      ["saturated", "Saturated"],
      ["active", "Active gradients"],
      ["dropped", "Dropped spikes"],
      ["forward", "Forward"],
      ["backward", "Backward"],
      ["share", "Share of a step"],
    ];
    const shown = heads.filter(([key]) => rows.some((row) => row[key] !== undefined && row[key] !== ""));
    const slowest = rows.reduce((most, row) => ((row.part ?? 0) > (most.part ?? 0) ? row : most), rows[0]);
    return html`
      ${slowest?.part ? html`<p>${slowest.title} takes the most time: ${percent(slowest.part)} of a training step in its forward and backward pass.</p>` : nothing}
      <div class="grid-box"><table class="grid"><caption>Layers</caption>
        <thead><tr><th scope="col">Layer</th><th scope="col">Settings</th>${shown.map(([, words]) => html`<th scope="col" class="number">${words}</th>`)}</tr></thead>
        <tbody>${rows.map(
          (
            row,
          ) => html`<tr><th scope="row" data-label="Layer">${row.title}</th><td data-label="Settings" class="soft">${row.settings}</td>
          ${shown.map(([key, words]) => html`<td class="number" data-label=${words}>${row[key] ?? ""}</td>`)}</tr>`,
        )}</tbody></table></div>
      <p class="soft small">Firing rate: share of neurons that spike in a step, on test samples. Dead neurons never spike; saturated ones spike in more than half of all steps
        (of ${number(spikes?.measured_samples ?? 0)} samples). Active gradients: share of neurons and steps with a gradient. Dropped spikes exceeded the capacity in training.
        ${times.size ? "Times are means of a training step, by the kernels' own clocks." : ""}</p>
      <p class="soft small">Weights take ${bytes(profile.memory.weights.bytes)}, the optimizer ${bytes(profile.memory.optimizer.bytes)}; the forward pass keeps
        ${bytes(profile.memory.savedForBackward.bytes)} for the backward pass.</p>`;
  }

  /** The layers of the spec before anything is measured. */
  planned(network) {
    const layers = this.layers(network);
    if (!layers.length) return empty({ title: "No layers" });
    return html`<div class="grid-box"><table class="grid"><caption>Layers</caption><thead><tr><th scope="col">Layer</th><th scope="col">Settings</th><th scope="col" class="number">Neurons</th></tr></thead>
      <tbody>${layers.map((row) => html`<tr><th scope="row" data-label="Layer">${row.title}</th><td data-label="Settings" class="soft">${row.settings}</td><td class="number" data-label="Neurons">${row.neurons ?? ""}</td></tr>`)}</tbody></table></div>
      ${notYet(this.job, "measurement of layers")}`;
  }

  /** The layers of the spec. @param {any} changed the network without what equals the defaults */
  layers(changed) {
    const { network } = this.job.spec;
    const hidden = (network?.layers ?? []).map((layer, at) => ({
      name: String(at + 1),
      title: layerTitle(at + 1, layer.name),
      neurons: layer.neurons === undefined ? undefined : number(layer.neurons),
      settings: settingsOf(changed?.layers?.[at]),
    }));
    return hidden.length
      ? [
          ...hidden,
          {
            name: "readout",
            title: layerTitle("readout", network.readout?.name),
            neurons: undefined,
            settings: settingsOf(changed?.readout),
          },
        ]
      : [];
  }
}

/** The settings of a layer other than its neurons: "conv2d, filters 8, pool average 2". */
function settingsOf(layer) {
  const { kind, neurons: _neurons, name: _name, ...rest } = layer ?? {};
  const words = ([name, value]) =>
    value === true ? plain(name) : `${plain(name)} ${texts(name === "neuron" ? (value.name ?? "own") : value)}`;
  return [kind, ...Object.entries(rest).map(words)].filter(Boolean).join(", ");
}

function texts(value) {
  if (typeof value === "number") return number(value);
  if (Array.isArray(value) && value.length > MOST_VALUES) return `of ${value.length} values`;
  if (value !== null && typeof value === "object") return Object.values(value).map(texts).join(" ");
  return String(value).replace(/[0-9a-f]{56}$/, "…"); // of a digest
}

function cells(activity, counted, time, step) {
  const found = {};
  if (activity) {
    found.neurons = number(activity.neurons);
    found.rate = percent(activity.firing_rate);
    found.active = percent(activity.gradient_share);
    found.dropped = number(activity.overflow.training);
  }
  if (counted) {
    found.dead = `${number(counted.dead.length)} (${percent(counted.dead.length / counted.neurons)})`;
    found.saturated = number(counted.saturated.length);
  }
  if (time) {
    found.forward = shortDuration(time.forward);
    found.backward = shortDuration(time.backward);
    found.part = step ? (time.forward + time.backward) / step : undefined;
    found.share = found.part === undefined ? undefined : percent(found.part);
  }
  return found;
}

customElements.define("ip-job-layers", Layers);
