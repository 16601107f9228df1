// The fields of each layer of a spec of version 2, from its schema: the usual ones in sight, the others under "more".
import { html, live, nothing } from "../../vendor.js";
import { plain } from "../../lib/format.js";
import { alternatives, documentSchema, resolved, usualMember } from "../../lib/schema.js";
import { layerName, layersOf } from "./layers.js";
import { NOTATION } from "./form.js";

/**
 * @typedef {{path: any[], name: string, words: string, facts: any, isUsual: boolean, present: any}} LayerField
 */

const WEIGHTED = new Set(["dense", "conv1d", "conv2d"]);

/** @param {any} YAML @param {string} text @param {any} schema @param {(text: string) => void} write */
export function layerFields(YAML, text, schema, write) {
  const document = YAML.parseDocument(text);
  if (document.errors.length || !YAML.isMap(document.contents)) return nothing;
  const value = document.toJS({ maxAliasCount: 100 });
  if (value.version === 1) return nothing;
  const change = (act) => {
    act(document);
    write(document.toString(NOTATION));
  };
  return layersOf(value).map((layer, index) => {
    const fields = fieldsOf(layer, ["network", "layers", index], schema);
    const rest = fields.filter((one) => !one.isUsual);
    const draw = (one) => control(YAML, one, change);
    return html`<section class="card layer"><details ?open=${index === 0}><summary><h2>${layerName(value, index)}</h2></summary>
      <div class="usual">${fields.filter((one) => one.isUsual).map(draw)}</div>
      <details class="more"><summary>More</summary><div class="usual">${rest.map(draw)}${recurrence(layer, index, change)}</div></details>
    </details></section>`;
  });
}

/** The fields that a form can show: of the layer, of its connection with weights, and of its neurons. */
function fieldsOf(layer, path, schema) {
  const root = documentSchema(schema, { version: 2 });
  const own = property(property(root, "network", schema), "layers", schema);
  const node = resolved(resolved(own, schema).items, schema);
  const parts = [{ node, path, value: layer }];
  if (!layer?.op) {
    const list = Array.isArray(layer?.connections) ? layer.connections : [{}];
    const at = list.findIndex((one) => WEIGHTED.has(one?.kind ?? "dense"));
    const connections = resolved(node.properties.connections, schema);
    if (at >= 0)
      parts.push({
        node: usualMember(connections.items, schema, list[at] ?? {}),
        path: [...path, "connections", at],
        value: list[at] ?? {},
      });
    const value = layer?.neuron ?? {};
    parts.push({ node: usualMember(node.properties.neuron, schema, value), path: [...path, "neuron"], value });
  }
  /** @type {LayerField[]} */
  const fields = parts.flatMap((part) =>
    Object.entries(part.node?.properties ?? {}).map(([name, facts]) => ({
      path: [...part.path, name],
      name,
      words: words(name),
      facts: simple(facts, schema),
      isUsual: facts.usual === true,
      present: part.value?.[name],
    })),
  );
  const isConvolution = parts[1]?.node?.properties?.filters !== undefined;
  return fields.filter(({ facts, name }) => facts && name !== "kind" && !(isConvolution && name === "neurons"));
}

const property = (node, name, root) => resolved(node, root).properties[name];

function words(name) {
  const text = plain(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What a control needs of a field; null if it is an object, which is for the text. */
function simple(field, root) {
  const { description = "", default: fallback } = resolved(field, root);
  const found = alternatives(field, root, undefined).filter((one) => one.type !== "null" && one.type !== "object");
  const scalars = found.filter((one) => one.type !== "array");
  if (!scalars.length) return null;
  const options =
    scalars[0].type === "boolean" ? ["true", "false"] : scalars.length === 1 ? scalars[0].enum : undefined;
  const isNumber =
    scalars.length === found.length && scalars.every(({ type }) => type === "number" || type === "integer");
  return { description, fallback, options, isNumber, step: scalars[0].type === "integer" ? "1" : "any" };
}

function control(YAML, { path, words: label, facts, present }, change) {
  const isText = present !== null && typeof present === "object";
  const shown = present === undefined || present === null || isText ? "" : String(present);
  const hint = isText
    ? "in the text"
    : facts.fallback === undefined || facts.fallback === null
      ? ""
      : String(facts.fallback);
  const onChange = ({ target }) =>
    change((document) => put(YAML, document, path, target.value.trim() === "" ? undefined : YAML.parse(target.value)));
  return html`<label class="field" title=${facts.description || nothing}><span>${label}</span>${
    facts.options
      ? html`<select @change=${onChange} .value=${live(shown)}><option value="">${hint}</option>${facts.options.map((one) => html`<option ?selected=${one === shown}>${one}</option>`)}</select>`
      : html`<input type=${facts.isNumber ? "number" : "text"} step=${facts.isNumber ? facts.step : nothing} ?disabled=${isText} .value=${live(shown)} placeholder=${hint} @change=${onChange} autocomplete="off">`
  }</label>`;
}

/** Sets a field, or removes it and what is empty without it. */
function put(YAML, document, path, value) {
  if (value !== undefined) {
    document.setIn(path, value);
    return;
  }
  document.deleteIn(path);
  for (let at = path.slice(0, -1); at.length > 3; at = at.slice(0, -1)) {
    const left = document.getIn(at, true);
    const isBare = YAML.isMap(left) ? !left.items.length : YAML.isSeq(left) && !left.items.length;
    // An empty connection among others is a dense one.
    const isOnly = typeof at.at(-1) !== "number" || document.getIn(at.slice(0, -1), true).items.length === 1;
    if (!isBare || !isOnly) return;
    document.deleteIn(at);
  }
}

/** Whether the layer receives its own spikes. */
function recurrence(layer, index, change) {
  if (layer?.op) return nothing;
  const path = ["network", "layers", index, "connections"];
  const at = (layer?.connections ?? []).findIndex?.((one) => one?.kind === "recurrent") ?? -1;
  const onChange = () =>
    change((document) => {
      const node = document.createNode({ kind: "recurrent" }, { flow: true });
      if (at >= 0) document.deleteIn([...path, at]);
      else if (document.hasIn(path)) document.addIn(path, node);
      else document.setIn(path, document.createNode([{ kind: "dense" }, { kind: "recurrent" }], { flow: true }));
    });
  return html`<label class="check"><input type="checkbox" .checked=${live(at >= 0)} @change=${onChange}> Recurrent connection</label>`;
}
