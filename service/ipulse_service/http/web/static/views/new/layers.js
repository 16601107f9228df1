// The hidden layers of a spec, of either version, as the form lists them.

/** @param {any} value @returns {any[]} */
export const layersOf = (value) => (Array.isArray(value?.network?.layers) ? value.network.layers : []);

/** The name of a layer: its own, or `layers[0]`. @param {any} value @param {number} index @returns {string} */
export const layerName = (value, index) => layersOf(value)[index]?.name ?? `layers[${index}]`;

/** The kind of a layer that is no dense layer of LIF neurons: conv2d, equations, package or op; else "". */
function kindOf(layer) {
  if (layer?.op) return "op";
  if (layer?.kind && layer.kind !== "dense") return layer.kind; // of version 1
  const list = Array.isArray(layer?.connections) ? layer.connections : [];
  const convolution = list.find((one) => /^conv/.test(one?.kind))?.kind;
  const neuron = layer?.neuron?.kind;
  return convolution ?? (neuron && neuron !== "lif" ? neuron : "");
}

/** Whether the form can give a layer another number of neurons. */
export const isPlain = (layer) => layer?.neurons !== undefined && kindOf(layer) === "";

/** "128", or for a layer of another kind "conv2d" or the name of its op or package. */
export function nameOf(layer) {
  if (isPlain(layer)) return String(layer.neurons);
  const named = layer?.op?.name ?? layer?.op ?? layer?.neuron?.package;
  return named ? String(named).split("@")[0] : kindOf(layer) || "layer";
}
