// The settings that differ from the job that was cloned.
import { html, nothing } from "../../vendor.js";
import { placeOf } from "./check.js";

const MOST = 12; // shown
const NAMES = new Set(["/name"]);

/** The values of a spec by their JSON pointers. @returns {Map<string, string>} */
export function values(node, pointer = "", found = new Map()) {
  if (node !== null && typeof node === "object" && Object.keys(node).length) {
    for (const [name, item] of Object.entries(node))
      values(item, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, found);
  } else found.set(pointer, JSON.stringify(node));
  return found;
}

/**
 * The settings that differ between two specs without defaults.
 * @param {any} parent
 * @param {any} spec
 * @returns {{pointer: string, before?: string, after?: string}[]}
 */
export function changed(parent, spec) {
  const [before, after] = [values(parent), values(spec)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((pointer) => before.get(pointer) !== after.get(pointer))
    .map((pointer) => ({ pointer, before: before.get(pointer), after: after.get(pointer) }));
}

const path = (pointer) => pointer.slice(1).replaceAll("/", ".");
const was = (/** @type {{before?: string}} */ { before }) => before ?? "default";

/**
 * Marks for the lines of the changes.
 * @param {any} YAML
 * @param {string} text
 * @param {ReturnType<typeof changed>} changes
 */
export function marks(YAML, text, changes) {
  const document = YAML.parseDocument(text);
  return changes
    .filter(({ after, pointer }) => after !== undefined && !NAMES.has(pointer))
    .map((one) => {
      const [from, to] = placeOf(YAML, document, one.pointer);
      return { from, to, severity: "info", message: `The parent has ${was(one)}.` };
    });
}

/** @param {ReturnType<typeof changed>} changes @param {{id: string, name: string}} parent */
export function changeList(changes, parent) {
  const shown = changes.slice(0, MOST);
  return html`<section class="card changes" aria-label="Changes"><h2>Changes to <bdi>${parent.name || parent.id}</bdi></h2>
    ${
      changes.length
        ? html`<ul>${shown.map((one) => html`<li><code>${path(one.pointer)}</code> <span class="nowrap"><del>${was(one)}</del> <ins>${one.after ?? "default"}</ins></span></li>`)}</ul>`
        : html`<p class="soft">None yet.</p>`
    }
    ${changes.length > MOST ? html`<p class="soft small">and ${changes.length - MOST} more</p>` : nothing}</section>`;
}
