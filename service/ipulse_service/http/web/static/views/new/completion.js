// Names, values and descriptions of a spec's fields at a place of the text, from the JSON Schema.
import { YAML } from "../../../vendor/bundles/editor.js";
import { api } from "../../lib/api.js";
import { acceptedPackages } from "../../lib/packages.js";
import { alternatives, documentSchema, resolved } from "../../lib/schema.js";

/**
 * The path of keys to a line of the text, by its indent.
 * @param {any} doc
 * @param {number} number of the line
 * @param {number} indent
 */
function pathAbove(doc, number, indent) {
  const path = [];
  let room = indent;
  for (let at = number - 1; at >= 1 && room > 0; at -= 1) {
    const { text } = doc.line(at);
    if (!text.trim() || text.trim().startsWith("#")) continue;
    const [, spaces, dash, key] = /^(\s*)((?:- )*)(?:([\w.-]+)\s*:)?/.exec(text);
    const keyIndent = spaces.length + dash.length;
    if (key && keyIndent < room) {
      path.unshift(key);
      room = keyIndent;
    }
    if (dash && spaces.length < room) {
      path.unshift(0);
      room = spaces.length + 1;
    }
  }
  return path;
}

/** Where the cursor is: the keys above, what is typed, and whether a value is wanted. */
function placeAt(state, pos) {
  const line = state.doc.lineAt(pos);
  const before = line.text.slice(0, pos - line.from);
  const [, spaces, dash] = /^(\s*)((?:- )*)/.exec(line.text);
  const indent = spaces.length + dash.length;
  const path = pathAbove(state.doc, line.number, indent);
  if (dash && !path.includes(0)) path.push(0);
  const flow = /\{([^{}]*)$/.exec(before);
  const inner = flow ? flow[1].split(",").at(-1) : before.slice(indent);
  if (flow) {
    const owner = /([\w.-]+)\s*:\s*\{[^{}]*$/.exec(before)?.[1];
    if (owner) path.push(owner);
  }
  const pair = /^\s*([\w.-]+)\s*:\s*(.*)$/.exec(inner);
  return pair
    ? { path: [...path, pair[1]], typed: pair[2], isValue: true }
    : { path, typed: inner.trim(), isValue: false };
}

/** The schemas of a path. @param {(string | number)[]} path @param {any} value of the whole text @returns {any[]} */
function schemasAt(path, value, root) {
  let nodes = [documentSchema(root, value)];
  let present = value;
  for (const key of path) {
    nodes = nodes
      .flatMap((node) => alternatives(node, root, present ?? {}))
      .flatMap((schema) => {
        if (typeof key === "number") return schema.items ? [schema.items] : [];
        return schema.properties?.[key] ? [schema.properties[key]] : [];
      });
    present = typeof key === "number" && Array.isArray(present) ? present[0] : present?.[key];
  }
  return nodes.flatMap((node) => alternatives(node, root, present ?? {}));
}

function valueOf(state) {
  try {
    return YAML.parseDocument(state.doc.toString()).toJS() ?? {};
  } catch {
    return {};
  }
}

/** A completion source for CodeMirror. @param {any} context @param {any} schema */
export function completions(context, schema) {
  if (!schema) return null;
  const { path, typed, isValue } = placeAt(context.state, context.pos);
  const word = context.matchBefore(/[\w.-]*/);
  if (!context.explicit && !typed) return null;
  const value = valueOf(context.state);
  const isOp = value.version === 1 ? path.at(-1) === "op" : path.at(-2) === "op" && path.at(-1) === "name";
  if (isValue && isOp) return pushedOps(typed, context.pos);
  if (isValue && path.at(-1) === "package") return packages(typed, context.pos);
  const found = schemasAt(path, value, schema);
  const options = new Map();
  if (isValue) {
    const key = path.at(-1);
    for (const one of found) {
      for (const value of one.enum ?? (one.const === undefined ? [] : [one.const]))
        options.set(String(value), { label: String(value), type: "enum" });
      if (one.type === "boolean")
        ["true", "false"].forEach((value) => options.set(value, { label: value, type: "enum" }));
    }
    if (key === "kind")
      kindsOf(path.slice(0, -1), value, schema).forEach((kind) => options.set(kind, { label: kind, type: "enum" }));
  } else {
    for (const one of found) {
      for (const [name, field] of Object.entries(one.properties ?? {})) {
        const facts = resolved(field, schema);
        options.set(name, {
          label: name,
          detail: typeOf(facts),
          info: field.description ?? facts.description,
          apply: `${name}: `,
          type: "property",
        });
      }
    }
  }
  return options.size
    ? { from: word?.from ?? context.pos, options: [...options.values()], validFor: /^[\w.-]*$/ }
    : null;
}

/** The ops that a layer can name. */
async function pushedOps(typed, pos) {
  const { ops } = await api.get("/v1/ops").catch(() => ({ ops: [] }));
  return {
    from: pos - typed.length,
    options: ops.map(({ reference, backends }) => ({
      label: reference,
      detail: backends.join(", "),
      type: "constant",
    })),
    validFor: /^[\w@:]*$/,
  };
}

/** The packages of neurons that a layer can name. */
async function packages(typed, pos) {
  const found = await acceptedPackages();
  return {
    from: pos - typed.length,
    options: found.map((one) => ({ label: one.package, detail: one.version, type: "constant" })),
    validFor: /^[\w@:]*$/,
  };
}

/** All kinds of a part that has several. */
function kindsOf(path, value, root) {
  let nodes = [documentSchema(root, value)];
  for (const key of path) {
    nodes = nodes
      .flatMap((node) => alternatives(node, root, {}))
      .flatMap((one) => (typeof key === "number" ? [one.items] : [one.properties?.[key]]))
      .filter(Boolean);
  }
  return nodes.flatMap((node) => Object.keys(resolved(node, root)?.discriminator?.mapping ?? {}));
}

function typeOf(facts) {
  if (facts.enum) return facts.enum.join(" | ");
  const limits = [facts.minimum ?? facts.exclusiveMinimum, facts.maximum ?? facts.exclusiveMaximum];
  const range = limits.every((one) => one === undefined) ? "" : ` ${limits[0] ?? ""} to ${limits[1] ?? "…"}`;
  return `${facts.type ?? ""}${range}`.trim();
}

/** The description of the field under the pointer, as an element. */
export function described(state, pos, schema) {
  const line = state.doc.lineAt(pos);
  const at = pos - line.from;
  const match = [...line.text.matchAll(/([\w.-]+)\s*:/g)].find(
    ({ index, 1: name }) => at >= index && at <= index + name.length,
  );
  if (!schema || !match) return null;
  const { path } = placeAt(state, line.from + match.index + match[0].length);
  const parents = schemasAt(path.slice(0, -1), valueOf(state), schema);
  const field = parents.map(({ properties }) => properties?.[path.at(-1)]).find(Boolean);
  if (!field) return null;
  const facts = resolved(field, schema);
  const dom = document.createElement("div");
  const title = Object.assign(document.createElement("b"), { textContent: path.at(-1) });
  const fallback = facts.default === undefined ? "" : ` Default: ${JSON.stringify(facts.default)}.`;
  dom.append(
    title,
    ` ${typeOf(facts)}`,
    document.createElement("br"),
    `${field.description ?? facts.description ?? ""}${fallback}`,
  );
  return { from: line.from + match.index, to: line.from + match.index + match[1].length, dom };
}
