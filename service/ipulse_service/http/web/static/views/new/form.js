// The usual fields of a spec, bound to its text: a change keeps comments and everything else.
import { html, live, nothing } from "../../vendor.js";
import { alternatives, documentSchema, resolved } from "../../lib/schema.js";
import { isPlain, layersOf, nameOf } from "./layers.js";

/** How specs are written; the reference of an op fits one line. */
export const NOTATION = { lineWidth: 160, flowCollectionPadding: false };

/**
 * @typedef {{path: (string | number)[], words: string, kind: "text" | "number" | "choice" | "layers", hint?:
 * string, step?: string, isWide?: boolean}} Field `isWide`: its values are long
 */

/** @type {Field[]} */
const FIELDS = [
  { path: ["name"], words: "Name", kind: "text", isWide: true },
  { path: ["data", "kind"], words: "Data", kind: "choice" },
  { path: ["data", "dataset"], words: "Uploaded data set", kind: "text", hint: "mine@1" },
  { path: ["data", "steps"], words: "Time steps", kind: "number", step: "1" },
  { path: ["network", "layers"], words: "Neurons of the hidden layers", kind: "layers", hint: "128, 64" },
  { path: ["network", "readout", "neuron", "kind"], words: "Readout", kind: "choice" },
  { path: ["training", "epochs"], words: "Epochs", kind: "number", step: "1" },
  { path: ["training", "batch_size"], words: "Batch size", kind: "number", step: "1" },
  { path: ["training", "optimizer", "kind"], words: "Optimizer", kind: "choice" },
  { path: ["training", "optimizer", "learning_rate"], words: "Learning rate", kind: "number", step: "any" },
  { path: ["device", "kind"], words: "Device", kind: "choice" },
  { path: ["seed"], words: "Seed", kind: "number", step: "1" },
  { path: ["training", "loss"], words: "Loss", kind: "choice", isWide: true },
];

/** The JSON pointers of the usual fields. @type {Set<string>} */
export const USUAL_POINTERS = new Set(FIELDS.map(({ path }) => `/${path.join("/")}`));

/** @param {any} YAML @param {string} text @param {any} schema @param {(text: string) => void} write */
export function form(YAML, text, schema, write) {
  const document = YAML.parseDocument(text);
  const isBroken = document.errors.length > 0 || !YAML.isMap(document.contents);
  const value = isBroken ? {} : document.toJS({ maxAliasCount: 100 });
  const change = (field, entry) => {
    apply(YAML, document, field, entry);
    write(document.toString(NOTATION));
  };
  return html`<fieldset class="usual" ?disabled=${isBroken}>
    <legend class="visually-hidden">Usual fields</legend>
    ${isBroken ? html`<p class="soft small">The text is not YAML yet.</p>` : nothing}
    ${FIELDS.filter((field) => isUseful(field, value, schema)).map((field) => html`<label class="field ${field.isWide ? "wide" : ""}"><span>${field.words}</span>${control(field, value, schema, change)}</label>`)}
  </fieldset>`;
}

/** A field that the chosen kind of data, optimizer or device does not have is left out. */
function isUseful({ path, kind }, value, schema) {
  return kind === "layers" || schemaAt(path, value, schema) !== undefined;
}

function control(field, value, schema, change) {
  const { path, kind, step, hint } = field;
  const present = kind === "layers" ? layerNames(value) : at(value, path);
  const of = kind === "layers" ? null : schemaAt(path, value, schema);
  const fallback = of?.default ?? "";
  const onChange = ({ target }) => {
    const wrong = kind === "layers" ? unknownLayer(target.value, value) : "";
    target.setCustomValidity(wrong && `There is no layer ${wrong} here: add it in the text.`);
    if (wrong) target.reportValidity();
    else change(field, target.value.trim());
  };
  if (kind === "choice") {
    const isObject = typeof present === "object" && present !== null;
    const words = choices(path, value, schema);
    const options = isObject ? [present.kind, ...words] : words;
    const chosen = (isObject ? present.kind : present) ?? (fallback || options[0]);
    return html`<select @change=${onChange} .value=${live(String(chosen))}>${options.map((one) => html`<option ?selected=${one === chosen}>${one}</option>`)}</select>`;
  }
  const isNumber = kind === "number";
  return html`<input type=${isNumber ? "number" : "text"} step=${step ?? nothing} min=${of?.minimum ?? nothing} .value=${live(present === undefined ? "" : String(present))}
    placeholder=${fallback === "" ? (hint ?? "") : String(fallback)} @change=${onChange} autocomplete="off">`;
}

const at = (value, path) => path.reduce((node, key) => node?.[key], value);
const layerNames = (value) => layersOf(value).map(nameOf).join(", ");
const isCount = (name) => /^\d+$/.test(name);

/** The first name that is neither a number of neurons nor a layer of the text, each of which can be kept once. */
function unknownLayer(text, value) {
  const left = layersOf(value)
    .filter((layer) => !isPlain(layer))
    .map(nameOf);
  return (
    text
      .split(/[\s,]+/)
      .filter((name) => name && !isCount(name))
      .find((name) => {
        const at = left.indexOf(name);
        if (at >= 0) left.splice(at, 1);
        return at < 0;
      }) ?? ""
  );
}

/** The schema of a path, among the alternatives that the value has chosen. */
function schemaAt(path, value, root) {
  let node = documentSchema(root, value);
  let present = value;
  for (const key of path) {
    const found = alternatives(node, root, present ?? {}).find(({ properties }) => properties && key in properties);
    if (!found) return undefined;
    node = found.properties[key];
    present = present?.[key];
  }
  return resolved(node, root);
}

/** The words that a field may be: of its enumeration, or the kinds of its parent. @returns {string[]} */
function choices(path, value, root) {
  if (path.at(-1) === "kind") {
    const parent = path
      .slice(0, -1)
      .reduce(
        (node, key) => alternatives(node, root, {}).find(({ properties }) => properties?.[key])?.properties[key],
        documentSchema(root, value),
      );
    return Object.keys(resolved(parent, root)?.discriminator?.mapping ?? {});
  }
  return alternatives(schemaAt(path, value, root), root, undefined).flatMap((one) => one.enum ?? []);
}

function apply(YAML, document, { path, kind }, entry) {
  if (kind === "choice" && document.getIn([...path, "kind"]) === entry) return; // an object, as it was
  const read = (text) => (text === "" ? undefined : kind === "text" ? text : YAML.parse(text));
  if (kind === "layers") {
    putLayers(YAML, document, entry.split(/[\s,]+/).filter(Boolean));
  } else if (path.at(-1) === "kind") {
    const parent = path.slice(0, -1);
    const known = document.getIn([...parent, "kind"]);
    // Fields of another kind would be refused.
    if (known !== entry && parent[0] !== "training")
      document.setIn(parent, document.createNode({ kind: entry }, { flow: true }));
    else put(document, path, entry);
  } else put(document, path, read(entry));
}

/**
 * Makes the layers those of the names: each keeps its other settings, and new ones get those of the last plain layer.
 */
function putLayers(YAML, document, names) {
  const seq = document.getIn(["network", "layers"], true);
  const old = (YAML.isSeq(seq) ? seq.items : []).map((node) => ({ node, value: node.toJSON() }));
  const left = new Set(old);
  const take = (one) => left.delete(one) && one.node;
  const others = names.map((name, n) => {
    if (isCount(name)) return null;
    const like = (one) => left.has(one) && !isPlain(one.value) && nameOf(one.value) === name;
    return take(like(old[n] ?? {}) ? old[n] : old.find(like));
  });
  const { name: _own, ...model } = old.findLast((one) => isPlain(one.value))?.value ?? {};
  const nodes = names.map((name, n) => {
    if (others[n] !== null) return others[n];
    const same = [...left].find((one) => isPlain(one.value));
    const node = same ? take(same) : document.createNode({ ...model }, { flow: true });
    node.set("neurons", Number(name));
    return node;
  });
  if (YAML.isSeq(seq)) seq.items = nodes;
  else document.setIn(["network", "layers"], document.createNode(nodes));
}

function put(document, path, value) {
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, value);
}
