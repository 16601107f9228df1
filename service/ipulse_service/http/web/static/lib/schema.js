// The JSON Schema of a spec, from the service's OpenAPI document.
import { api } from "./api.js";
import { CODE_KINDS } from "./kinds.js";

// How people write a spec; other fields follow in the order of the schema.
const FIRST = ["version", "name", "seed", "data", "network", "training", "device"];

/** @type {Promise<any> | null} */
let asked = null;

/** The schema of ExperimentSpec; `$defs` holds all other schemas, also those of programs and scripts. */
export function specSchema() {
  asked ??= api
    .get("/openapi.json")
    .then(({ components: { schemas } }) => ({ $ref: "#/components/schemas/ExperimentSpec", $defs: schemas }))
    .catch((error) => {
      asked = null;
      throw error;
    });
  return asked;
}

/** Follows references. @param {any} node @param {any} root */
export function resolved(node, root) {
  let found = node;
  for (let depth = 0; found?.$ref && depth < 20; depth += 1) {
    const { $ref, ...beside } = found;
    found = { ...root.$defs[$ref.split("/").at(-1)], ...beside };
  }
  return found;
}

/** The alternatives of a schema that fit a value: those of its kind, else all. @returns {any[]} */
export function alternatives(node, root, value) {
  const schema = resolved(node, root);
  const parts = schema?.oneOf ?? schema?.anyOf;
  if (!parts) return schema ? [schema] : [];
  const all = parts.flatMap((part) => alternatives(part, root, value));
  const tag = schema.discriminator?.propertyName ?? "kind";
  const named = value && typeof value === "object" ? value[tag] : undefined;
  const fitting =
    named === undefined
      ? []
      : all.filter(({ properties }) => {
          const of = resolved(properties?.[tag], root);
          return of && (of.const === named || of.enum?.includes(named));
        });
  return fitting.length ? fitting : all;
}

/** The fields of a value in the order of its schema. */
function inOrder(value, { properties }) {
  const names = [...FIRST, ...Object.keys(properties)];
  const place = (name) => (name === "kind" ? -1 : names.includes(name) ? names.indexOf(name) : names.length);
  return Object.entries(value).sort(([a], [b]) => place(a) - place(b));
}

/** The schema of a whole spec, by the kind and the version that it says; without a version the newest. */
export function documentSchema(root, value) {
  const kind = CODE_KINDS[value?.kind];
  if (kind) return { $ref: `#/components/schemas/${kind.schema}` };
  return value?.version === 1 ? root : { $ref: "#/components/schemas/ExperimentSpecV2" };
}

/** The member of a union that the kind of a value names; for a value without a kind, the usual member. */
export function usualMember(node, root, value) {
  const { oneOf = [] } = resolved(node, root);
  const member =
    value?.kind === undefined
      ? oneOf.find((part) => !part.required)
      : oneOf.find((part) => resolved(part, root).properties.kind?.const === value.kind);
  return resolved(member, root);
}

/** Whether most networks set the field of a layer at a JSON pointer, by what the schema says of each field. */
export function isUsualField(pointer, value, root) {
  let [node, present, isUsual] = [documentSchema(root, value), value, false];
  for (const key of pointer.slice(1).split("/")) {
    const found = alternatives(node, root, present).find(
      (one) => one.items || (one.properties && key in one.properties),
    );
    if (!found) return false;
    node = found.properties?.[key] ?? found.items;
    isUsual = node.usual === true;
    present = present?.[key];
  }
  return isUsual;
}

const ofKind = (node, root, value) => (node === root ? documentSchema(root, value) : node);

/** The value without what equals the schema's defaults; required fields stay. */
export function withoutDefaults(value, root, node = root) {
  if (Array.isArray(value)) {
    const [list] = alternatives(node, root, value).filter(({ items }) => items);
    return value.map((one) => withoutDefaults(one, root, list?.items));
  }
  if (value === null || typeof value !== "object") return value;
  const [schema] = alternatives(ofKind(node, root, value), root, value).filter(({ properties }) => properties);
  if (!schema) return value;
  const kept = {};
  for (const [name, one] of inOrder(value, schema)) {
    const field = schema.properties[name];
    if (!field) kept[name] = one;
    else if (schema.required?.includes(name) || (name === "kind" && node !== root))
      kept[name] = withoutDefaults(one, root, field);
    else if (!isDefault(one, field, root)) kept[name] = withoutDefaults(one, root, field);
  }
  return kept;
}

function isDefault(value, field, root) {
  const fallback = "default" in field ? field.default : resolved(field, root)?.default;
  if (fallback !== undefined && equal(value, fallback)) return true;
  if (value === null) return fallback === undefined || fallback === null;
  // A part that is left out by default is there. OpenAPI does not have the default null itself.
  if (fallback === null || (fallback === undefined && field.anyOf?.some((part) => part.type === "null"))) return false;
  if (typeof value === "object" && !Array.isArray(value)) {
    const rest = withoutDefaults(value, root, field);
    if (fallback && typeof fallback === "object")
      return equal(rest, withoutDefaults({ ...fallback }, root, field)) || Object.keys(rest).length === 0;
    const names = Object.keys(rest);
    return names.length === 0 || (names.length === 1 && names[0] === "kind" && isUsualKind(rest.kind, field, root));
  }
  return false;
}

/** Whether a kind is the one that a spec may leave out. */
function isUsualKind(kind, field, root) {
  const usual = resolved(field, root)?.oneOf?.find((part) => !part.required?.includes("kind"));
  const of = resolved(resolved(usual, root)?.properties?.kind, root);
  return of !== undefined && (of.const === kind || of.default === kind || of.enum?.[0] === kind);
}

function equal(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => equal(a[key], b[key]));
}
