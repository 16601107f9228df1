// A new job: an editor, a form of the usual fields on the same document, and a check of it before it is submitted.
import { html, nothing } from "../../vendor.js";
import { View } from "../../app/view.js";
import { navigate, updateQuery } from "../../app/router.js";
import { projectField, who } from "../../app/session.js";
import { api } from "../../lib/api.js";
import { acceptedPackages } from "../../lib/packages.js";
import { fullId, isKeyUsed, newKey } from "../../lib/ids.js";
import { specSchema } from "../../lib/schema.js";
import { toast } from "../../parts/toast.js";
import { EXAMPLES, exampleNamed } from "./examples.js";
import { NOTATION, form } from "./form.js";
import { check } from "./check.js";
import { layerFields } from "./layer_fields.js";
import { importNir, importState } from "./network_import.js";
import { opFields, opsOf } from "./op_fields.js";
import { packageFields } from "./package_fields.js";
import { plan } from "./plan.js";
import { changeList, changed, marks } from "./changes.js";
import { askSweep } from "./sweep.js";
import "./editor.js";

const DRAFT = "ipulse-draft";
const CHECK_AFTER = 350; // ms without a change
const KEPT_BYTES = 256 * 1024; // of a text that the service stores
const LIMITS = [
  ["queue_seconds", "Longest wait (s)"],
  ["run_seconds", "Longest run (s)"],
  ["total_seconds", "Longest in all (s)"],
];

class NewView extends View {
  static properties = {
    ...View.properties,
    text: { state: true },
    found: { state: true },
    isChecking: { state: true },
    isSending: { state: true },
    ops: { state: true },
    imported: { state: true },
  };

  constructor() {
    super();
    this.text = "";
    /** @type {import("./check.js").Found | null} */
    this.found = null;
    this.isChecking = false;
    this.isSending = false;
    this.ops = new Map(); // that the text names, by digest
    /** @type {import("./network_import.js").Import | null} */
    this.imported = null; // the NIR file that was chosen
    this.packages = []; // of neurons, that the service accepts
    this.parent = null; // the job that it is a clone of
    this.submission = newKey();
  }

  loadKey(route) {
    return `${route.path}?${route.query.get("from") ?? ""}`;
  }

  heading() {
    return this.parent ? `Clone of ${this.parent.name || this.parent.id}` : "New job";
  }

  async load(route, signal) {
    this.imported = null;
    const [schema, { YAML }, packages] = await Promise.all([
      specSchema(),
      import("../../../vendor/bundles/editor.js"),
      acceptedPackages(signal),
      who(),
    ]);
    this.packages = packages;
    this.YAML = YAML;
    this.schema = schema;
    const from = route.query.get("from") ?? "";
    const draft = stored();
    if (draft && (!from || from === "draft" || (draft.from === from && from !== "dataset"))) {
      this.parent = draft.parent ?? null;
      if (this.parent && !this.parent.brief)
        this.parent.brief = YAML.parse(await briefOf(this.parent.id, signal).catch(() => "{}"));
      this.write(draft.text, { isQuiet: true });
    } else if (/^job_|^latest$|^[0-9a-f]{4,24}$/.test(from)) {
      const id = await fullId(from, signal);
      const [job, text] = await Promise.all([api.get(`/v1/jobs/${id}`, { signal }), briefOf(id, signal)]);
      this.parent = { id: job.id, name: job.name, brief: YAML.parse(text) };
      this.write(text, { isQuiet: true });
    } else {
      this.parent = null;
      this.write(from === "dataset" ? forDataset(route.query) : exampleNamed(from).text, { isQuiet: true });
    }
    return {};
  }

  /** Replaces the text, from whatever source; the draft survives a reload. */
  write(text, { isQuiet = false } = {}) {
    if (text === this.text) return;
    this.text = text;
    this.isChecking = true;
    this.submission = newKey();
    if (!isQuiet)
      localStorage.setItem(
        DRAFT,
        JSON.stringify({ text, from: this.route.query.get("from") ?? "", parent: this.parent }),
      );
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), isQuiet ? 0 : CHECK_AFTER);
  }

  async check() {
    const { text } = this;
    this.isChecking = true;
    const found = await check(this.YAML, text, this.options, this.signal).catch((error) => ({
      problems: [],
      plan: null,
      value: null,
      error,
    }));
    if (text !== this.text || this.signal.aborted) return; // a later check answers
    this.isChecking = false;
    this.found = found;
    const ops = await opsOf(valueOf(this.YAML, text));
    if (text === this.text) this.ops = ops;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.timer);
  }

  /** What the plan depends on besides the spec. */
  get options() {
    const number = (name) =>
      Number(/** @type {HTMLInputElement | null} */ (this.querySelector(`[name=${name}]`))?.value) || null;
    return { priority: number("priority"), run_seconds: number("run_seconds") };
  }

  /** Submits with Ctrl and Enter, also from the editor, which would take them. @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    /** @type {HTMLFormElement} */ (event.currentTarget).requestSubmit();
  }

  async submit(event) {
    event.preventDefault();
    if (this.isSending) return;
    const form = event.target;
    if (this.isChecking || !this.found) await this.check(); // what is found is about an earlier text
    const { value } = this.found ?? {};
    if (!value) return;
    const numbers = [...new FormData(form)].filter(([name, entry]) => /priority|_seconds$/.test(name) && entry);
    /** @type {Record<string, any>} */
    const wanted = { spec: value, ...Object.fromEntries(numbers.map(([name, entry]) => [name, Number(entry)])) };
    if (new Blob([this.text]).size <= KEPT_BYTES) wanted.submitted = { form: "yaml", text: this.text };
    if (this.parent && new FormData(form).get("weights"))
      Object.assign(wanted, { start_from: this.parent.id, start_mode: "weights" });
    wanted.tags = String(new FormData(form).get("tags") ?? "")
      .split(/[\s,]+/)
      .filter(Boolean);
    this.isSending = true;
    try {
      const {
        jobs: [{ job }],
      } = await api.post("/v1/jobs:batch", { jobs: [wanted] }, { headers: { "idempotency-key": this.submission } });
      localStorage.removeItem(DRAFT);
      toast(`${job.name || job.id} is submitted`);
      navigate(`/jobs/${job.id}`);
    } catch (error) {
      if (isKeyUsed(error)) this.submission = newKey();
      this.found = { ...this.found, error };
    } finally {
      this.isSending = false;
    }
  }

  /** Asks for the settings of a sweep, among those of the spec with its defaults. */
  async sweep() {
    if (this.isChecking || !this.found) await this.check();
    const { value } = this.found ?? {};
    if (!value) return;
    try {
      askSweep(value, (await api.post("/v1/jobs:validate", value)).spec_version_2, this.schema);
    } catch (error) {
      this.found = { ...this.found, error };
    }
  }

  /** The settings that differ from the parent's, null without one. */
  get changes() {
    const { parent, found } = this;
    return parent?.brief && found?.plan ? changed(parent.brief, found.plan.brief) : null;
  }

  /** Imports a NIR file; a later choice of a file or a meaning replaces this one. */
  async import(file, options = {}) {
    if (!file) return;
    const begun = { file, isReading: true };
    this.imported = begun;
    const { shown, spec } = await importNir(file, options, this.signal);
    if (this.imported !== begun || this.signal.aborted) return;
    this.imported = shown;
    if (!spec) return;
    this.parent = null;
    this.write(this.YAML.stringify(spec, NOTATION));
  }

  async open(file) {
    if (/\.(nir|h5|hdf5)$/i.test(file.name)) {
      this.import(file);
      return;
    }
    if (file.size > 2 ** 20) {
      toast("A spec has at most 1 MiB.", { isBad: true });
      return;
    }
    const text = await file.text();
    this.write(file.name.endsWith(".json") ? fromJson(this.YAML, text) : text);
  }

  example(name) {
    if (!name) return;
    this.parent = null;
    localStorage.removeItem(DRAFT);
    if (this.route.query.get("from") === name) this.write(exampleNamed(name).text);
    else updateQuery({ from: name });
  }

  /** The fields of layers; a text of version 1 can be rewritten. */
  layers(set) {
    if (valueOf(this.YAML, this.text)?.version !== 1) return layerFields(this.YAML, this.text, this.schema, set);
    const brief = this.isChecking ? null : this.found?.plan?.brief;
    return html`<section class="card"><h2>Version 1</h2>
      <p class="soft">This spec is of version 1, which stays valid. The form has fields of layers for version 2.</p>
      <button type="button" ?disabled=${!brief} @click=${() => set(this.YAML.stringify(brief, NOTATION))}>Write it in version 2</button>
      <p class="soft small">Comments are not kept.</p></section>`;
  }

  view() {
    const { found, parent } = this;
    const set = (text) => this.write(text);
    const { changes } = this;
    const isSweep = this.route.query.get("sweep") === "1"; // who comes from the sweeps wants one
    const notes = changes && !this.isChecking ? marks(this.YAML, this.text, changes) : [];
    return html`
      <header class="head"><h1>${isSweep ? "New sweep" : parent ? "Clone a job" : "New job"}</h1>
        ${parent ? html`<span class="soft">from <a href="/jobs/${parent.id}">${parent.name || parent.id}</a></span>` : nothing}
        <div class="buttons">
          <label class="inline">Example <select aria-label="Example" @change=${(event) => {
            this.example(event.target.value);
            event.target.value = "";
          }}>
            <option value="">choose …</option>${EXAMPLES.map(({ name, title }) => html`<option value=${name}>${title}</option>`)}</select></label>
          <label class="button file">Import a NIR file<input type="file" name="nir" accept=".nir,.h5,.hdf5" class="visually-hidden" @change=${(
            event,
          ) => {
            this.import(event.target.files[0]);
            event.target.value = ""; // the same file may be chosen again
          }}></label>
          <label class="button file">Open a file<input type="file" accept=".yaml,.yml,.json,application/json" class="visually-hidden" @change=${(event) => this.open(event.target.files[0])}></label>
        </div></header>
      <form class="new" @submit=${(event) => this.submit(event)} @keydown=${{ handleEvent: (event) => this.pressed(event), capture: true }}>
        <section class="spec" aria-label="Spec">
          ${
            this.imported
              ? importState(
                  this.imported,
                  ({ options }) => this.import(this.imported?.file, options),
                  () => {
                    this.imported = null;
                  },
                )
              : nothing
          }
          <ip-editor .text=${this.text} .problems=${found?.problems.length ? found.problems : notes} .schema=${this.schema} @change=${(event) => set(event.detail)} @open=${(event) => this.open(event.detail)}></ip-editor>
          <p class="soft small">YAML or JSON. Drop or paste a file; <kbd>Ctrl</kbd> <kbd>Space</kbd> shows the fields, <kbd>Tab</kbd> leaves the editor, <kbd>Ctrl</kbd> <kbd>Enter</kbd> submits.</p>
        </section>
        <aside class="side">
          <section class="card">${plan(found, this.isChecking)}</section>
          ${changes ? changeList(changes, parent) : nothing}
          <section class="card"><h2>Usual fields</h2>${this.YAML ? form(this.YAML, this.text, this.schema, set) : nothing}</section>
          ${this.YAML ? this.layers(set) : nothing}
          ${this.YAML ? packageFields(this.YAML, this.text, this.packages, set) : nothing}
          ${this.ops.size ? opFields(this.YAML, this.text, this.ops, set) : nothing}
          <section class="card"><h2>Submission</h2>
            ${parent ? html`<label class="check"><input type="checkbox" name="weights"> Begin with the weights of <bdi>${parent.name || "its parent"}</bdi></label>` : nothing}
            ${projectField(() => this.check())}
            <details class="more"><summary>Priority, limits and tags</summary>
              <label class="field"><span>Priority, from −100 to 100</span><input name="priority" type="number" min="-100" max="100" placeholder="0" @change=${() => this.check()}></label>
              ${LIMITS.map(([name, words]) => html`<label class="field"><span>${words}</span><input name=${name} type="number" min="1" @change=${() => this.check()}></label>`)}
              <label class="field"><span>Tags</span><input name="tags" placeholder="baseline wide"></label>
            </details></section>
          <div class="send">
            <button type="submit" class="wide ${isSweep ? "" : "primary"}" ?disabled=${this.isSending || (found && !found.value && !this.isChecking)}>Submit</button>
            <button type="button" class="wide ${isSweep ? "primary" : ""}" ?disabled=${this.isSending || !found?.value || this.isChecking} @click=${() => this.sweep()}>Submit as sweep …</button>
          </div>
        </aside>
      </form>`;
  }
}

/** The spec of a job as people write it. @param {string} id @param {AbortSignal} signal */
const briefOf = async (id, signal) => (await api.get(`/v1/jobs/${id}/spec`, { query: { form: "brief" }, signal })).text;

/** A first spec for a data set of the service. */
function forDataset(query) {
  const reference = query.get("dataset") ?? "";
  const name = JSON.stringify(reference.split("@")[0]);
  return exampleNamed("digits")
    .text.replace(/^#.*\n/, "")
    .replace(/^name: .*$/m, `name: ${name}`)
    .replace(
      /^data:\n(?: +.*\n)+/m,
      `data: {kind: ${query.get("kind") ?? "npz"}, dataset: ${JSON.stringify(reference)}}\n`,
    );
}

/** What a text says, whether it is a valid spec or not; null if it is not YAML. */
function valueOf(YAML, text) {
  try {
    return YAML.parse(text, { maxAliasCount: 100 });
  } catch {
    return null;
  }
}

function stored() {
  try {
    return JSON.parse(localStorage.getItem(DRAFT) ?? "null");
  } catch {
    return null;
  }
}

/** JSON in the notation of YAML; a text that is no JSON stays as it is, with its error. */
function fromJson(YAML, text) {
  try {
    return YAML.stringify(JSON.parse(text), NOTATION);
  } catch {
    return text;
  }
}
customElements.define("ip-new", NewView);
