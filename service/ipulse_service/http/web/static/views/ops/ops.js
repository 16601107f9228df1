// The custom ops that were pushed: their inputs and outputs, and the jobs that name them.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { bytes, number } from "../../lib/format.js";
import { quoted } from "../../lib/query.js";
import { ago } from "../../parts/ago.js";
import { copyButton } from "../../parts/copy.js";
import { confirmDialog } from "../../parts/dialog.js";
import { inputsHead } from "../../parts/inputs.js";
import { empty } from "../../parts/states.js";
import { toast } from "../../parts/toast.js";

const DIGITS = 8; // of a digest

const shape = (tensors) => tensors.map((one) => `[${one.shape.join(", ")}]`).join(", ");
const query = (op) => encodeURIComponent(`op:${quoted(op.reference)}`);

/** "width: 2, 1 to 8"; an attribute without a default must be set in the spec. */
function attribute(name, { type, default: fallback, minimum, maximum }) {
  const isThere = (value) => value !== undefined && value !== null;
  const range = isThere(minimum) && isThere(maximum) ? `, ${minimum} to ${maximum}` : "";
  return `${name}: ${isThere(fallback) ? JSON.stringify(fallback) : `${type}, required`}${range}`;
}

/** The declared attributes, or the text that the op gets instead. @param {string | Record<string, any>} [declared] */
function attributes(declared = "") {
  return typeof declared === "string"
    ? declared
    : Object.entries(declared).map(([name, one]) => html`<div>${attribute(name, one)}</div>`);
}

class OpsView extends View {
  static poll = 10_000;

  heading() {
    return "Custom ops";
  }

  loadKey(route) {
    return route.query.get("page") ?? "";
  }

  async load(route, signal) {
    return api.get("/v1/ops", { query: { page_token: route.query.get("page") }, signal });
  }

  async remove_(op) {
    const isSure = await confirmDialog({
      title: `Delete ${op.name}?`,
      danger: true,
      confirm: "Delete",
      text: html`<p>No new job can name it. Jobs that do keep its package.</p>`,
    });
    if (!isSure) return;
    await api.delete(`/v1/ops/${op.sha256}`).then(
      () => toast(`${op.name} is deleted`),
      (error) => toast(error.message, { isBad: true }),
    );
    this.reload();
  }

  view({ ops, next_page_token: next }) {
    const mayDelete = ops.some((op) => op.allowed.includes("delete"));
    if (!ops.length) {
      return html`${inputsHead("/ops")}${empty({
        title: "No custom ops yet",
        text: "An op is an operation of your own between two layers of a network, in NumPy, C++ or Poplar. Write one, test it, and push it; a layer of a spec then names it.",
        command: "ipulse op new pool_op --layer",
      })}`;
    }
    return html`${inputsHead("/ops")}
      <p class="soft">A layer names an op by name and digest: <code>{kind: op, op: NAME@sha256:…, neurons: N}</code>. <code>ipulse op push FOLDER</code> adds one.</p>
      <div class="grid-box jobs" tabindex="0" role="region" aria-label="Custom ops"><table class="grid"><caption>Custom ops</caption>
        <thead><tr><th scope="col">Op</th><th scope="col">Inputs and outputs</th><th scope="col">Attributes</th><th scope="col">Back ends</th><th scope="col" class="number">Size</th><th scope="col" class="number">Jobs</th>
          <th scope="col">Pushed by</th><th scope="col">Pushed</th>${mayDelete ? html`<th scope="col"><span class="visually-hidden">Actions</span></th>` : nothing}</tr></thead>
        <tbody>${repeat(
          ops,
          (op) => op.sha256,
          (op) => html`<tr>
          <th scope="row"><span class="nowrap">${op.name} <span class="soft small id" title=${op.sha256}>${op.sha256.slice(0, DIGITS)}</span>${copyButton(op.reference, "Copy the name for a spec")}</span></th>
          <td data-label="Inputs, outputs" class="wrapped"><span><code>${shape(op.manifest.inputs)}</code> → <code>${shape(op.manifest.outputs)}</code></span></td>
          <td data-label="Attributes" class="wrapped"><span>${attributes(op.manifest.attributes)}</span></td>
          <td data-label="Back ends">${op.backends.join(", ")}</td>
          <td class="number" data-label="Size">${bytes(op.size)}</td>
          <td class="number" data-label="Jobs">${op.jobs ? html`<a href="/jobs?q=${query(op)}" aria-label="${number(op.jobs)} jobs with ${op.name}">${number(op.jobs)}</a>` : "0"}</td>
          <td data-label="Pushed by">${op.pushed_by ?? nothing}</td><td data-label="Pushed">${ago(op.created_at)}</td>
          ${mayDelete ? html`<td class="number">${op.allowed.includes("delete") ? html`<button type="button" aria-label="Delete ${op.name} ${op.sha256.slice(0, DIGITS)}" @click=${() => this.remove_(op)}>Delete</button>` : nothing}</td>` : nothing}</tr>`,
        )}</tbody></table></div>
      ${next ? html`<nav class="paging" aria-label="Pages of the list"><span></span><a class="button" href="/ops?page=${next}">More</a></nav>` : nothing}`;
  }
}
customElements.define("ip-ops", OpsView);
