// The usual fields of a spec, bound to its text: a change keeps comments and everything else.
import { html, live, nothing } from "../../vendor.js";
import { alternatives, resolved } from "../../lib/schema.js";

/** @typedef {{path: (string | number)[], words: string, kind: "text" | "number" | "choice" | "layers" | "each", hint?: string, step?: string}} Field */

/** @type {Field[]} */
const FIELDS = [
  { path: ["name"], words: "Name", kind: "text" },
  { path: ["seed"], words: "Seed", kind: "number", step: "1" },
  { path: ["data", "kind"], words: "Data", kind: "choice" },
  { path: ["data", "dataset"], words: "Uploaded data set", kind: "text", hint: "mine@1" },
  { path: ["data", "steps"], words: "Time steps", kind: "number", step: "1" },
  { path: ["network", "layers"], words: "Neurons of the hidden layers", kind: "layers", hint: "128, 64" },
  { path: ["network", "layers", "*", "second_threshold"], words: "Second threshold of all layers", kind: "each", step: "any" },
  { path: ["network", "layers", "*", "capacity"], words: "Capacity of all layers", kind: "each", step: "1" },
  { path: ["network", "readout", "kind"], words: "Readout", kind: "choice" },
  { path: ["training", "epochs"], words: "Epochs", kind: "number", step: "1" },
  { path: ["training", "batch_size"], words: "Batch size", kind: "number", step: "1" },
  { path: ["training", "optimizer", "kind"], words: "Optimizer", kind: "choice" },
  { path: ["training", "optimizer", "learning_rate"], words: "Learning rate", kind: "number", step: "any" },
  { path: ["training", "loss"], words: "Loss", kind: "choice" },
  { path: ["device", "kind"], words: "Device", kind: "choice" },
];

/** @param {any} YAML @param {string} text @param {any} schema @param {(text: string) => void} write */
export function form(YAML, text, schema, write) {
  const document = YAML.parseDocument(text);
  const isBroken = document.errors.length > 0 || !YAML.isMap(document.contents);
  const value = isBroken ? {} : document.toJS({ maxAliasCount: 100 });
  const change = (field, entry) => {
    apply(YAML, document, field, entry);
    write(document.toString({ lineWidth: 110, flowCollectionPadding: false }));
  };
  return html`<fieldset class="usual" ?disabled=${isBroken}>
    <legend class="visually-hidden">Usual fields</legend>
    ${isBroken ? html`<p class="soft small">The text is not YAML yet.</p>` : nothing}
    ${FIELDS.filter((field) => isUseful(field, value, schema)).map((field) => html`<label class="field"><span>${field.words}</span>${control(field, value, schema, change)}</label>`)}
  </fieldset>`;
}

/** A field that the chosen kind of data, optimizer or device does not have is left out. */
function isUseful({ path, kind }, value, schema) {
  return kind === "layers" || kind === "each" || schemaAt(path, value, schema) !== undefined;
}

function control(field, value, schema, change) {
  const { path, kind, step, hint } = field;
  const present = kind === "layers" ? neurons(value) : kind === "each" ? common(value, path.at(-1)) : at(value, path);
  const of = kind === "layers" || kind === "each" ? null : schemaAt(path, value, schema);
  const fallback = of?.default ?? "";
  const onChange = (event) => change(field, event.target.value.trim());
  if (kind === "choice") {
    const options = choices(path, value, schema);
    const chosen = present ?? (fallback || options[0]);
    return html`<select @change=${onChange} .value=${live(String(chosen))}>${options.map((one) => html`<option ?selected=${one === chosen}>${one}</option>`)}</select>`;
  }
  const isNumber = kind === "number" || kind === "each";
  return html`<input type=${isNumber ? "number" : "text"} step=${step ?? nothing} min=${of?.minimum ?? nothing} .value=${live(present === undefined ? "" : String(present))}
    placeholder=${fallback === "" ? hint ?? "" : String(fallback)} @change=${onChange} autocomplete="off">`;
}

const at = (value, path) => path.reduce((node, key) => node?.[key], value);
const neurons = ({ network }) => (Array.isArray(network?.layers) ? network.layers.map((layer) => layer?.neurons ?? "?").join(", ") : "");

/** The value that all layers share, undefined if they differ. */
function common({ network }, name) {
  const values = (Array.isArray(network?.layers) ? network.layers : []).map((layer) => layer?.[name]);
  return values.length && values.every((one) => one === values[0]) && typeof values[0] !== "object" ? values[0] : undefined;
}

/** The schema of a path, among the alternatives that the value has chosen. */
function schemaAt(path, value, root) {
  let node = root;
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
    const parent = path.slice(0, -1).reduce((node, key) => alternatives(node, root, {}).find(({ properties }) => properties?.[key])?.properties[key], root);
    return Object.keys(resolved(parent, root)?.discriminator?.mapping ?? {});
  }
  return schemaAt(path, value, root)?.enum ?? [];
}

function apply(YAML, document, { path, kind }, entry) {
  const read = (text) => (text === "" ? undefined : kind === "text" ? text : YAML.parse(text));
  if (kind === "layers") {
    const wanted = entry.split(/[\s,]+/).filter(Boolean).map(Number);
    const old = document.getIn(["network", "layers"], true);
    const last = YAML.isSeq(old) && old.items.length ? old.items.at(-1).toJSON() : {};
    wanted.forEach((count, n) => {
      if (YAML.isSeq(old) && n < old.items.length) document.setIn(["network", "layers", n, "neurons"], count);
      else document.addIn(["network", "layers"], document.createNode({ ...last, neurons: count }, { flow: true }));
    });
    if (YAML.isSeq(old)) old.items.length = Math.min(old.items.length, wanted.length);
  } else if (kind === "each") {
    const layers = document.getIn(["network", "layers"], true);
    (layers?.items ?? []).forEach((_, n) => put(document, ["network", "layers", n, path.at(-1)], read(entry)));
  } else if (path.at(-1) === "kind") {
    const parent = path.slice(0, -1);
    const known = document.getIn([...parent, "kind"]);
    // Fields of another kind would be refused.
    if (known !== entry && parent[0] !== "training") document.setIn(parent, document.createNode({ kind: entry }, { flow: true }));
    else put(document, path, entry);
  } else put(document, path, read(entry));
}

function put(document, path, value) {
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, value);
}
