// Submits the spec as a sweep: some settings with several values, and several seeds.
import { LitElement, html, nothing } from "../../vendor.js";
import { navigate } from "../../app/router.js";
import { api } from "../../lib/api.js";
import { isKeyUsed, newKey } from "../../lib/ids.js";
import { isUsualField } from "../../lib/schema.js";
import { openDialog } from "../../parts/dialog.js";
import { said } from "../../parts/said.js";
import { toast } from "../../parts/toast.js";
import { values } from "./changes.js";
import { USUAL_POINTERS } from "./form.js";
import { sweepPlan } from "./sweep_plan.js";

const USUAL = "/training/optimizer/learning_rate";
const UNVARIED = /^\/(version|name|seed|metadata)(\/|$)/;

const METHODS = { grid: "every combination", random: "random draws", tpe: "draws near the best (TPE)" };
const STOPPING = { "": "none", asha: "successive halving (ASHA)", median: "worse than the median" };
const KINDS = { values: "one of", log_uniform: "between, log", uniform: "between", int_uniform: "integer between" };
const TRIALS = 20;
const PLAN_AFTER = 300; // ms without a change

const path = (pointer) =>
  pointer
    .slice(1)
    .replace(/\/(\d+)/g, "[$1]")
    .replaceAll("/", ".");
const parts = (text) => text.split(/[\s,;]+/).filter(Boolean);

const choices = (words, chosen) =>
  Object.entries(words).map(([key, text]) => html`<option value=${key} ?selected=${key === chosen}>${text}</option>`);

/** A value as it is written in JSON, else a text. */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

class SweepForm extends LitElement {
  static properties = {
    spec: { attribute: false },
    all: { attribute: false },
    schema: { attribute: false },
    close: { attribute: false },
    rows: { state: true },
    seeds: { state: true },
    method: { state: true },
    trials: { state: true },
    problem: { state: true },
    found: { state: true },
    isSending: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */
    this.spec = {};
    /** @type {any} the spec with its defaults, in version 2 */
    this.all = {};
    /** @type {any} the schema of specs */
    this.schema = null;
    /** @type {() => void} */
    this.close = () => {};
    /** @type {{pointer: string, text: string, kind: string}[]} */
    this.rows = [];
    this.seeds = "";
    this.method = "grid";
    this.trials = TRIALS;
    /** @type {any} */
    this.problem = null;
    /** @type {{plan?: any, error?: any} | null} */
    this.found = null;
    this.isSending = false;
    this.key = newKey();
    this.planned = new AbortController();
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.present = new Map(
      [...values(this.all)].filter(([pointer, value]) => !UNVARIED.test(pointer) && !/^[[{]/.test(value)),
    );
    const isUsual = (pointer) => USUAL_POINTERS.has(pointer) || isUsualField(pointer, this.all, this.schema);
    this.usual = new Set([...this.present.keys()].filter(isUsual));
    this.add();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.timer);
    this.planned.abort();
  }

  updated(changed) {
    if (["rows", "method"].some((name) => changed.has(name))) this.planSoon();
  }

  planSoon() {
    clearTimeout(this.timer);
    this.planned.abort();
    this.timer = setTimeout(() => this.plan(), PLAN_AFTER);
  }

  async plan() {
    const form = this.querySelector("form");
    if (!form?.checkValidity()) {
      this.found = null;
      return;
    }
    this.planned = new AbortController();
    const { signal } = this.planned;
    const found = await api
      .post("/v1/sweeps:plan", this.definition(form), { signal })
      .then((plan) => ({ plan }))
      .catch((error) => ({ error }));
    if (!signal.aborted) this.found = found;
  }

  /** One more setting, with its present value. */
  add() {
    const used = new Set(this.rows.map((row) => row.pointer));
    const pointer = [USUAL, ...this.present.keys()].find((one) => this.present.has(one) && !used.has(one));
    if (pointer) this.rows = [...this.rows, { pointer, text: this.shown(pointer), kind: "values" }];
  }

  shown(pointer) {
    return String(read(this.present.get(pointer)));
  }

  set(index, changes) {
    this.rows = this.rows.map((row, at) => (at === index ? { ...row, ...changes } : row));
    this.problem = null;
  }

  /** The settings that a row may vary: the usual ones first, the others under "More". */
  options(row) {
    const isFree = (pointer) => pointer === row.pointer || !this.rows.some((one) => one.pointer === pointer);
    const free = [...this.present.keys()].filter(isFree);
    const draw = (pointer) =>
      html`<option value=${pointer} ?selected=${pointer === row.pointer}>${path(pointer)}</option>`;
    const rest = free.filter((pointer) => !this.usual.has(pointer));
    return html`<optgroup label="Usual">${free.filter((pointer) => this.usual.has(pointer)).map(draw)}</optgroup>${
      rest.length ? html`<optgroup label="More">${rest.map(draw)}</optgroup>` : nothing
    }`;
  }

  get isGrid() {
    return this.method === "grid";
  }

  /** How the values of a setting are chosen; a grid has lists of values only. */
  kindOf(row) {
    return this.isGrid ? "values" : row.kind;
  }

  get jobs() {
    const points = this.rows.reduce((product, row) => product * parts(row.text).length, 1);
    return (this.isGrid ? points : this.trials) * Math.max(1, parts(this.seeds).length);
  }

  /** The sweep as the service takes it. @param {HTMLFormElement} element */
  definition(element) {
    const form = new FormData(element);
    return {
      version: 1,
      sweep: form.get("name"),
      spec: this.spec,
      method: this.method,
      trials: this.isGrid ? null : this.trials,
      seeds: parts(this.seeds).map(read),
      parameters: Object.fromEntries(
        this.rows.map((row) => [row.pointer, { [this.kindOf(row)]: parts(row.text).map(read) }]),
      ),
      stopping: form.get("stopping") ? { kind: form.get("stopping") } : null,
      objective: { metric: form.get("metric"), goal: form.get("goal") || undefined },
      parallel: form.get("parallel") ? Number(form.get("parallel")) : null,
    };
  }

  async submit(event) {
    event.preventDefault();
    const body = this.definition(event.target);
    this.isSending = true;
    try {
      const sweep = await api.post("/v1/sweeps", body, { headers: { "idempotency-key": this.key } });
      this.close();
      toast(`${sweep.name} is submitted`);
      navigate(`/sweeps/${sweep.id}`);
    } catch (error) {
      this.problem = error;
      // after any other error the sweep may exist; the same key makes no second one
      if (isKeyUsed(error)) this.key = newKey();
    } finally {
      this.isSending = false;
    }
  }

  render() {
    const { rows, jobs, problem } = this;
    const settings = [...this.present.keys()];
    return html`<form @submit=${(event) => this.submit(event)} @input=${() => this.planSoon()} @change=${() => this.planSoon()}>
      <label class="field"><span>Name of the sweep</span><input name="name" required maxlength="128" autocomplete="off" .value=${this.spec.name ?? ""}></label>
      <div class="usual"><label class="field"><span>Trials</span><select name="method" @change=${(event) => {
        this.method = event.target.value;
      }}>${choices(METHODS, this.method)}</select></label>
        ${
          this.isGrid
            ? nothing
            : html`<label class="field"><span>Number of trials</span><input name="trials" type="number" min="1" max="10000" required .value=${String(this.trials)} @input=${(
                event,
              ) => {
                this.trials = Number(event.target.value) || 0;
              }}></label>`
        }
        <label class="field"><span>Stop weak trials early</span><select name="stopping">${choices(STOPPING, "")}</select></label></div>
      <fieldset class="varied"><legend>Settings that vary</legend>
        ${rows.map(
          (row, index) => html`<div class="vary">
          <label><span class="soft small">Setting</span><select @change=${(event) => this.set(index, { pointer: event.target.value, text: this.shown(event.target.value) })}>
            ${this.options(row)}</select></label>
          ${this.isGrid ? nothing : html`<label><span class="soft small">Draw</span><select @change=${(event) => this.set(index, { kind: event.target.value })}>${choices(KINDS, row.kind)}</select></label>`}
          <label><span class="soft small">${this.kindOf(row) === "values" ? "Values, separated by commas" : "Lowest and highest, separated by a comma"}</span><input required autocomplete="off" .value=${row.text} @input=${(event) => this.set(index, { text: event.target.value })}></label>
          <button type="button" class="ghost" ?disabled=${!this.isGrid && rows.length < 2} @click=${() => {
            this.rows = rows.filter((_, at) => at !== index);
          }} aria-label="Remove ${path(row.pointer)}">Remove</button></div>`,
        )}
        <button type="button" ?disabled=${rows.length >= settings.length} @click=${() => this.add()}>Add a setting</button></fieldset>
      <div class="usual">
        <label class="field"><span>Seeds of each trial</span><input autocomplete="off" placeholder=${String(this.all.seed ?? "")} .value=${this.seeds} @input=${(
          event,
        ) => {
          this.seeds = event.target.value;
        }}></label>
        <label class="field"><span>Jobs at the same time</span><input name="parallel" type="number" min="1" max="1000" placeholder="default"></label>
        <label class="field"><span>Metric</span><input name="metric" required autocomplete="off" value="test_accuracy"></label>
        <label class="field"><span>Goal</span><select name="goal"><option value="">as the metric needs</option><option value="maximize">highest is best</option><option value="minimize">lowest is best</option></select></label></div>
      ${sweepPlan(this.found)}
      ${problem ? html`<div class="problems" role="alert">${problem.errors?.length ? problem.errors.map((one) => html`<p class="bad">${one.pointer ? html`<code>${one.pointer}</code>: ` : nothing}${said(one.detail)}</p>`) : html`<p class="bad">${said(problem.message)}</p>`}</div>` : nothing}
      <div class="buttons end"><button type="button" @click=${() => this.close()}>Keep editing</button>
        <button type="submit" class="primary" ?disabled=${this.isSending || jobs === 0}>Submit ${jobs.toLocaleString("en")} ${jobs === 1 ? "job" : "jobs"}</button></div>
    </form>`;
  }
}
customElements.define("ip-sweep-form", SweepForm);

/**
 * Asks for settings and values.
 * @param {any} spec as it is written
 * @param {any} all in version 2, with defaults
 * @param {any} schema of specs
 */
export function askSweep(spec, all, schema) {
  return openDialog(
    (close) =>
      html`<h2>Submit as sweep</h2><ip-sweep-form .spec=${spec} .all=${all} .schema=${schema} .close=${close}></ip-sweep-form>`,
    { label: "Submit as sweep", isWide: true },
  );
}
