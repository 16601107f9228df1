// The layers of a spec with neurons of a package: which package, and its parameters.
import { html, live, nothing } from "../../vendor.js";
import { number } from "../../lib/format.js";
import { packageDigits, packageName } from "../../lib/packages.js";
import { NOTATION } from "./form.js";
import { layerName, layersOf } from "./layers.js";

/** @typedef {import("../../lib/packages.js").Package} Package */

const NEURONS = 64; // of a layer that is added without another one
const FLOW = { flow: true };

/**
 * The layers with neurons of a package, and where they are.
 * @param {any} value
 * @returns {{layer: any, path: any[], name: string}[]}
 */
function packageLayers(value) {
  return layersOf(value).flatMap((layer, index) =>
    layer?.neuron?.kind === "package"
      ? [{ layer, path: ["network", "layers", index], name: layerName(value, index) }]
      : [],
  );
}

/** @param {any} YAML @param {string} text @param {Package[]} packages @param {(text: string) => void} write */
export function packageFields(YAML, text, packages, write) {
  const document = YAML.parseDocument(text);
  if (document.errors.length || !YAML.isMap(document.contents)) return nothing;
  const value = document.toJS({ maxAliasCount: 100 });
  if (value.version === 1) return nothing;
  const change = (act) => {
    act(document);
    write(document.toString(NOTATION));
  };
  const layers = packageLayers(value);
  if (!packages.length && !layers.length) return nothing;
  return html`${layers.map((one) => card(one, packages, change))}
    ${
      packages.length
        ? html`<section class="card"><h2>Packages of neurons</h2>
      <label class="field"><span>Add a hidden layer of a package</span>
        <select .value=${live("")} @change=${({ target }) => target.value && change(() => add(document, value, target.value))}>
          <option value="">choose …</option>${packages.map((one) => option(one, false))}</select></label></section>`
        : nothing
    }`;
}

function add(document, value, reference) {
  const neurons = layersOf(value).findLast((layer) => Number.isInteger(layer?.neurons))?.neurons ?? NEURONS;
  const layer = document.createNode({ neurons, neuron: { kind: "package", package: reference } }, FLOW);
  if (document.getIn(["network", "layers"])) document.addIn(["network", "layers"], layer);
  else document.setIn(["network", "layers"], document.createNode([layer]));
}

const option = (one, isChosen) =>
  html`<option value=${one.package} ?selected=${isChosen}>${packageName(one.package)} ${packageDigits(one.package)} (${one.version})</option>`;

function card({ layer, path, name }, packages, change) {
  const named = String(layer.neuron?.package ?? "");
  const found = packages.find((one) => one.package === named);
  const choose = ({ target }) => change((document) => document.setIn([...path, "neuron", "package"], target.value));
  return html`<section class="card"><h2>${name}: ${packageName(named) || "package"}</h2>
    <label class="field"><span>Package</span><select @change=${choose} .value=${live(named)}>
      ${found ? nothing : html`<option value=${named} selected>${named ? `${packageName(named)} ${packageDigits(named)}: not accepted` : "choose …"}</option>`}
      ${packages.map((one) => option(one, one === found))}</select></label>
    ${
      found?.parameters.length
        ? html`<fieldset class="usual"><legend class="visually-hidden">Parameters of ${name}</legend>
      ${found.parameters.map((one) => parameter(one, layer, [...path, "neuron", "parameters"], change))}</fieldset>`
        : nothing
    }
  </section>`;
}

function parameter(declared, layer, path, change) {
  const given = Array.isArray(layer.neuron?.parameters) ? layer.neuron.parameters : [];
  const index = given.findIndex((one) => one?.name === declared.name);
  const present = given[index] ?? {};
  const isList = Array.isArray(present.value);
  const put = (key, entry) => change((document) => setParameter(document, path, index, declared, key, entry));
  const range = `${number(declared.minimum)} to ${number(declared.maximum)}`;
  return html`<div><label class="field" title=${range}><span>${declared.name}, ${range}</span><input type="number" step="any" min=${declared.minimum} max=${declared.maximum}
      ?disabled=${isList} .value=${live(present.value === undefined || isList ? "" : String(present.value))} placeholder=${isList ? "a list in the text" : String(declared.default)}
      @change=${({ target }) => put("value", target.value === "" ? undefined : Number(target.value))} autocomplete="off"></label>
    ${declared.trainable ? html`<label class="check small"><input type="checkbox" .checked=${live(present.trained === true)} @change=${({ target }) => put("trained", target.checked ? true : undefined)}> Train ${declared.name}</label>` : nothing}</div>`;
}

/** Sets or removes an entry of a parameter; one without a value that is not trained is left out. */
function setParameter(document, path, index, declared, key, entry) {
  if (index < 0) {
    if (entry === undefined) return;
    const made = document.createNode(
      { name: declared.name, ...(declared.per_neuron ? {} : { per: "layer" }), [key]: entry },
      FLOW,
    );
    if (document.getIn(path)?.items) document.addIn(path, made);
    else document.setIn(path, document.createNode([made], FLOW));
    return;
  }
  const at = [...path, index];
  if (entry === undefined) document.deleteIn([...at, key]);
  else document.setIn([...at, key], entry);
  if (document.hasIn([...at, "value"]) || document.hasIn([...at, "trained"])) return;
  document.deleteIn(at);
  if (!document.getIn(path).items.length) document.deleteIn(path);
}
