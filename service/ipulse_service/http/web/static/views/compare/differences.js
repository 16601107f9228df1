// The table of settings that differ and of the metrics, with the best value of each.
import { html, nothing } from "../../vendor.js";
import { updateQuery } from "../../app/router.js";
import { downloadCsv } from "../../lib/download.js";
import { isShare, isolated, label, metric } from "../../lib/format.js";
import { chip } from "../../parts/chip.js";

const ROWS = 50;
const MOST_OPTIONS = 200; // jobs to choose from

export const isThere = (value) => value !== null && value !== undefined;

/** The best of the kept values of a metric, undefined if they are equal. */
function best(jobs, { key, isSmallGood }) {
  const values = jobs.map((job) => job.metrics[key]?.kept).filter((value) => typeof value === "number");
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return values.length < 2 || low === high ? undefined : isSmallGood ? low : high;
}

const kept = new WeakMap(); // by the comparison

/** The columns of the table: what differs, first what most jobs have, then the metrics. */
export function columnsOf(comparison) {
  if (!kept.has(comparison)) kept.set(comparison, columnsIn(comparison));
  return kept.get(comparison);
}

function columnsIn({ jobs, settings, metrics, smaller_is_better: falling }) {
  // A setting with one value differs only because some jobs do not have it.
  const weight = ({ name, distinct }) =>
    (distinct > 1 ? jobs.length : 0) + jobs.filter((job) => isThere(job.settings[name])).length;
  const weights = new Map(settings.map((one) => [one.name, weight(one)]));
  return [
    ...[...settings]
      .sort((a, b) => weights.get(b.name) - weights.get(a.name))
      .map((one) => ({
        key: one.name,
        words: label(one.label),
        value: (job) => job.settings[one.name],
        isMetric: false,
      })),
    ...metrics.map((name) => ({
      key: name,
      words: label(name),
      value: (job) => job.metrics[name]?.kept,
      isMetric: true,
      isSmallGood: falling.includes(name),
    })),
  ];
}

function csv(comparison) {
  const columns = columnsOf(comparison);
  const rows = comparison.jobs.map((job) => [
    job.id,
    job.name,
    job.state,
    ...columns.map((column) => column.value(job)),
  ]);
  downloadCsv([["id", "name", "state", ...columns.map((column) => column.key)], ...rows], "compare.csv");
}

/** The difference to the baseline; a share in percentage points. */
function difference({ key, isSmallGood }, value, base) {
  if (typeof value !== "number" || typeof base !== "number") return nothing;
  const by = value - base;
  const size = isShare(key) ? `${(100 * Math.abs(by)).toFixed(1)} pts` : metric(key, Math.abs(by));
  const kind = by === 0 ? "soft" : isSmallGood === by < 0 ? "good" : "bad";
  return html`<span class="difference small ${kind}">${by === 0 ? "±0" : `${by > 0 ? "+" : "−"}${size}`}</span>`;
}

function cell(job, column, top, baseline) {
  const value = column.value(job);
  const isBest = column.isMetric && value !== undefined && value === top;
  const isOther = baseline && job !== baseline;
  const isChanged = isOther && !column.isMetric && value !== column.value(baseline);
  return html`<td class="${column.isMetric || typeof value === "number" ? "number" : ""} ${isBest ? "best" : ""} ${isChanged ? "changed" : ""}" data-label=${column.words}>
    <span>${metric(column.key, value)}${isBest ? html`<span class="visually-hidden"> (best)</span>` : nothing}
    ${isChanged ? html`<span class="visually-hidden"> (not as the baseline)</span>` : nothing}
    ${isOther && column.isMetric ? difference(column, value, column.value(baseline)) : nothing}</span></td>`;
}

export function differences(view, data) {
  const { comparison, colors } = data;
  const jobs = view.shown;
  const { baseline } = view;
  const columns = columnsOf(comparison);
  const tops = new Map(columns.filter((column) => column.isMetric).map((column) => [column.key, best(jobs, column)]));
  const name = (job) =>
    html`<i class="swatch" .style=${`background: var(${colors.get(job.id).color})`}></i><a class="name" href="/jobs/${job.id}">${job.name || "unnamed"}</a> <span class="soft small id">${job.id.slice(4, 8)}</span>${job === baseline ? html` <span class="tag">baseline</span>` : nothing}`;
  const rows = jobs.slice(0, ROWS);
  const table = view.isTransposed
    ? html`<thead><tr><th scope="col">Setting or metric</th>${rows.map((job) => html`<th scope="col">${name(job)}</th>`)}</tr></thead>
      <tbody>${columns.map((column) => html`<tr><th scope="row" title=${column.key}>${column.words}</th>${rows.map((job) => cell(job, { ...column, words: job.name }, tops.get(column.key), baseline))}</tr>`)}</tbody>`
    : html`<thead><tr><th scope="col">Job</th><th scope="col">State</th>${columns.map((column) => html`<th scope="col" class=${column.isMetric || jobs.some((job) => typeof column.value(job) === "number") ? "number" : ""} title=${column.key}>${column.words}</th>`)}</tr></thead>
      <tbody>${rows.map((job) => html`<tr><th scope="row">${name(job)}</th><td class="c-state" data-label="State">${chip(job.state)}</td>${columns.map((column) => cell(job, column, tops.get(column.key), baseline))}</tr>`)}</tbody>`;
  return html`<section class="section" aria-label="Settings and metrics">
    <div class="bar"><h2>Settings that differ, and results</h2>
      ${
        comparison.jobs.length > 1
          ? html`<label class="inline">Baseline <select name="baseline" @change=${(event) => updateQuery({ baseline: event.target.value })}>
        <option value="">none</option>${comparison.jobs.slice(0, MOST_OPTIONS).map((job) => html`<option value=${job.id.slice(4)} ?selected=${job === baseline}>${isolated(job.name) || "unnamed"} ${job.id.slice(4, 8)}</option>`)}</select></label>`
          : nothing
      }
      <div class="buttons right"><button type="button" aria-pressed=${String(view.isTransposed)} @click=${() => {
        view.isTransposed = !view.isTransposed;
      }}>Transpose</button>
      <button type="button" @click=${() => csv(comparison)}>CSV</button></div></div>
    ${comparison.settings.length ? nothing : html`<p class="soft">All settings of these jobs are equal.</p>`}
    <div class="grid-box jobs" tabindex="0" role="region" aria-label="Settings that differ, and results"><table class="grid"><caption>Settings that differ, and results</caption>${table}</table></div>
    ${jobs.length > ROWS ? html`<p class="soft small">The first ${ROWS} of ${jobs.length.toLocaleString("en")} jobs; the CSV file has all.</p>` : nothing}
  </section>`;
}
