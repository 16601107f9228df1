// Specs to begin with.

/** @type {{name: string, title: string, text: string}[]} */
export const EXAMPLES = [
  {
    name: "digits",
    title: "Scanned digits",
    text: `# Two hidden LIF layers learn the scanned digits of scikit-learn, in about a minute.
version: 2
name: digits
seed: 1
data:
  kind: digits
  steps: 40
network:
  layers:
    - {neurons: 128, neuron: {second_threshold: 0.5}}
    - {neurons: 64, neuron: {second_threshold: 0.5}}
  initial_membrane_std: 0.5
training:
  epochs: 20
  batch_size: 32
  optimizer: {kind: adam, learning_rate: 0.01}
device: {kind: cpu}
`,
  },
  {
    name: "own-data",
    title: "Own data, from an uploaded file",
    text: `# Spikes in mine.npz, uploaded on the page Data sets or with "ipulse data push mine.npz".
version: 2
name: own data
seed: 1
data: {kind: npz, dataset: mine}
network:
  layers:
    - {neurons: 128, neuron: {second_threshold: 0.9}}
training: {epochs: 20}
`,
  },
  {
    name: "recurrent",
    title: "Recurrent layer with trained decay",
    text: `version: 2
name: recurrent
seed: 1
data:
  kind: digits
  steps: 40
  encoding: {kind: log_latency, threshold: 0.15}
network:
  layers:
    - neurons: 128
      connections: [{kind: dense, bias: true}, {kind: recurrent}]
      neuron: {second_threshold: 0.5}
      capacity: {grow: 8}  # grows when spikes are dropped
  readout: {connections: [{kind: dense, bias: true}], neuron: {decay: 0.97}}
  trained_constants: [decay]
  initial_membrane_std: 0.3
training:
  epochs: 30
  batch_size: 32
  optimizer: {kind: adamw, learning_rate: 0.005, weight_decay: 0.01}
  schedule: {shape: cosine, warmup_steps: 20}
  early_stopping: {metric: test_loss, patience: 10}
`,
  },
  {
    name: "spike-count",
    title: "Readout that counts spikes",
    text: `version: 2
name: spike count
seed: 1
data:
  kind: digits
  steps: 40
  encoding: {kind: log_latency, threshold: 0.15}
network:
  layers:
    - {neurons: 128, neuron: {second_threshold: 0.9}}
    - {neurons: 64, neuron: {second_threshold: 0.9}}
  readout: {neuron: {kind: lif}}
  initial_membrane_std: 0.7
training:
  epochs: 30
  batch_size: 32
  optimizer: {kind: adam, learning_rate: 0.01}
  loss: spike_count_cross_entropy
  regularisers:
    - {kind: lower, spikes: 0.5, strength: 0.01}
    - {kind: upper, spikes: 3, strength: 0.01}
`,
  },
  {
    name: "emulator",
    title: "Emulated IPU",
    text: `# A small network on one emulated IPU, with a profile of every tile.
version: 2
name: emulated tiles
seed: 3
data: {kind: randman, classes: 2, units: 16, steps: 20, samples_per_class: 64}
network:
  layers:
    - {neurons: 64, neuron: {second_threshold: 0.5}, capacity: 16}
    - {neurons: 32}
training:
  epochs: 5
  batch_size: 16
  optimizer: {kind: adam, learning_rate: 0.02}
device: {kind: emulator, tiles: 64}
`,
  },
  {
    name: "yin-yang",
    title: "Yin-yang",
    text: `version: 2
name: yin-yang
seed: 1
data: {kind: yin_yang, steps: 40, span_ms: 38}
network:
  layers:
    - {neurons: 120, neuron: {decay: 0.9, second_threshold: 0.9}}
  readout: {neuron: {decay: 0.97}}
training:
  epochs: 30
  batch_size: 64
  optimizer: {kind: adam, learning_rate: 0.01}
`,
  },
];

/** The example of a name; the first one for any other name. */
export const exampleNamed = (name) => EXAMPLES.find((one) => one.name === name) ?? EXAMPLES[0];
