// The fields of the custom ops of a spec: their attributes, and whether their own weights are trained.
import { html, live, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { number } from "../../lib/format.js";
import { NOTATION } from "./form.js";
import { layerName, layersOf } from "./layers.js";

/** @typedef {{name: string, manifest: any}} Op */

const known = new Map(); // digest -> promise of an op, null if there is none

const isThere = (value) => value !== undefined && value !== null;

/**
 * The layers of a spec that are custom ops.
 * @param {any} value
 * @returns {{index: number, layer: any, digest: string}[]}
 */
function opLayers(value) {
  return layersOf(value).flatMap((layer, index) => {
    const digest = /@sha256:([0-9a-f]{64})$/.exec(layer?.op?.name ?? "")?.[1];
    return digest ? [{ index, layer, digest }] : [];
  });
}

/**
 * The ops that a spec names, by digest; one that the service does not have is left out.
 * @param {any} value
 * @returns {Promise<Map<string, Op>>}
 */
export async function opsOf(value) {
  const digests = [...new Set(opLayers(value).map(({ digest }) => digest))];
  for (const digest of digests) {
    const asked =
      known.get(digest) ??
      api.get(`/v1/ops/${digest}`).catch(() => {
        known.delete(digest);
        return null;
      });
    known.set(digest, asked);
  }
  /** @type {[string, Op][]} */
  const found = await Promise.all(
    digests.map(async (digest) => /** @type {[string, Op]} */ ([digest, await known.get(digest)])),
  );
  return new Map(found.filter(([, op]) => op));
}

/** @param {any} YAML @param {string} text @param {Map<string, Op>} ops @param {(text: string) => void} write */
export function opFields(YAML, text, ops, write) {
  const document = YAML.parseDocument(text);
  if (document.errors.length || !YAML.isMap(document.contents)) return nothing;
  const set = (path, value) => {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, value);
    const at = document.getIn(path.slice(0, -1), true);
    if (YAML.isMap(at) && !at.items.length) document.deleteIn(path.slice(0, -1));
    write(document.toString(NOTATION));
  };
  const value = document.toJS({ maxAliasCount: 100 });
  return opLayers(value)
    .filter(({ digest }) => ops.has(digest))
    .map(({ index, layer, digest }) => {
      const { manifest } = ops.get(digest) ?? {};
      const path = ["network", "layers", index];
      const declared = typeof manifest.attributes === "object" ? Object.entries(manifest.attributes) : [];
      const weights = manifest.weights ?? [];
      if (!declared.length && !weights.length) return nothing;
      return html`<section class="card"><h2>${layerName(value, index)}: ${manifest.name}</h2>
      ${
        declared.length
          ? html`<fieldset class="usual"><legend class="visually-hidden">Attributes of ${layerName(value, index)}</legend>
        ${declared.map(([name, one]) => attribute(name, one, layer.op.attributes?.[name], (entry) => set([...path, "op", "attributes", name], entry)))}</fieldset>`
          : nothing
      }
      ${
        weights.length
          ? html`
        <label class="check"><input type="checkbox" .checked=${live(layer.trained !== false)} @change=${({ target }) => set([...path, "trained"], target.checked ? undefined : false)}> Train its weights</label>
        <ul class="plain small soft">${weights.map((one) => html`<li><code>${one.name}</code> ${weight(one)}</li>`)}</ul>`
          : nothing
      }
    </section>`;
    });
}

function attribute(name, { type, default: fallback, minimum, maximum, values, description }, present, put) {
  const isNumber = type === "integer" || type === "number";
  const options = type === "boolean" ? ["true", "false"] : values;
  const read = (text) =>
    text === "" ? undefined : isNumber ? Number(text) : type === "boolean" ? text === "true" : text;
  const onChange = ({ target }) => put(read(target.value));
  const hint = isThere(fallback) ? String(fallback) : "required";
  return html`<label class="field" title=${description || nothing}><span>${name}</span>${
    options
      ? html`<select @change=${onChange} .value=${live(String(present ?? ""))}><option value="">${hint}</option>${options.map((one) => html`<option ?selected=${one === String(present)}>${one}</option>`)}</select>`
      : html`<input type=${isNumber ? "number" : "text"} step=${type === "integer" ? "1" : isNumber ? "any" : nothing} min=${minimum ?? nothing} max=${maximum ?? nothing}
        .value=${live(isThere(present) ? String(present) : "")} placeholder=${hint} @change=${onChange} autocomplete="off">`
  }</label>`;
}

/** "[senders], begins with ones, at least 0, at most 0.999". */
function weight({ shape, initialiser, trainable, minimum, maximum }) {
  const { name, ...numbers } = typeof initialiser === "string" ? { name: initialiser } : initialiser;
  const begins = [
    name.replaceAll("_", " "),
    ...Object.entries(numbers).map(([key, value]) => `${key} ${number(value)}`),
  ].join(" ");
  const bounds = [
    isThere(minimum) ? `at least ${number(minimum)}` : "",
    isThere(maximum) ? `at most ${number(maximum)}` : "",
  ].filter(Boolean);
  return [
    `[${shape.join(", ")}]`,
    `begins with ${begins}`,
    ...bounds,
    trainable === false ? "a constant, which is not trained" : "",
  ]
    .filter(Boolean)
    .join(", ");
}
