// The table of results and of settings that differ, with the best value of each result.
import { html, nothing } from "../../vendor.js";
import { updateQuery } from "../../app/router.js";
import { swatch } from "../../charts/swatch.js";
import { downloadCsv } from "../../lib/download.js";
import { isShare, isolated, label, metric } from "../../lib/format.js";
import { chip } from "../../parts/chip.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";

const ROWS = 200; // at first
const CARDS = 20; // on a phone
const COLUMNS = 20; // of a transposed table
const MOST_OPTIONS = 200; // jobs to choose from

export const isThere = (value) => value !== null && value !== undefined;

/** The best of the values of a metric, undefined if they are equal. */
function best(jobs, column) {
  const values = jobs.map((job) => column.value(job)).filter((value) => typeof value === "number");
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return values.length < 2 || low === high ? undefined : column.isSmallGood ? low : high;
}

const kept = new WeakMap(); // by the comparison

/**
 * The columns of the table: the results, then what differs, first what most jobs have. `isOfAll`: all jobs have the
 * setting, but for those of a kind without results: a program among trainings has neither.
 */
export function columnsOf(comparison) {
  if (!kept.has(comparison)) kept.set(comparison, columnsIn(comparison));
  return kept.get(comparison);
}

function columnsIn({ jobs, settings, metrics, smaller_is_better: falling }) {
  const count = ({ name }) => jobs.filter((job) => isThere(job.settings[name])).length;
  const counts = new Map(settings.map((one) => [one.name, count(one)]));
  const ended = jobs.filter((job) => metrics.some((name) => isThere(job.metrics[name]?.value)));
  const kinds = new Set(ended.map((job) => job.settings.kind));
  const judged = ended.length ? jobs.filter((job) => kinds.has(job.settings.kind)) : jobs;
  const isOfAll = ({ name }) =>
    judged.every((job) => isThere(job.settings[name])) && new Set(judged.map((job) => job.settings[name])).size > 1;
  // A setting with one value differs only because some jobs do not have it.
  const weight = ({ name, distinct }) => (distinct > 1 ? jobs.length : 0) + counts.get(name);
  return [
    ...metrics.map((name) => ({
      key: name,
      words: label(name),
      value: (job) => job.metrics[name]?.value,
      isMetric: true,
      isSmallGood: falling.includes(name),
      isOfAll: true,
    })),
    ...[...settings]
      .sort((a, b) => weight(b) - weight(a))
      .map((one) => ({
        key: one.name,
        words: label(one.label),
        value: (job) => job.settings[one.name],
        isMetric: false,
        isSmallGood: false,
        isOfAll: isOfAll(one),
      })),
  ];
}

function csv(comparison, jobs) {
  const columns = columnsOf(comparison);
  const rows = jobs.map((job) => [job.id, job.name, job.state, ...columns.map((column) => column.value(job))]);
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

function content(job, column, top, baseline) {
  const value = column.value(job);
  const isOther = baseline && job !== baseline;
  return html`${metric(column.key, value)}${column.isMetric && isThere(value) && value === top ? html`<span class="visually-hidden"> (best)</span>` : nothing}
    ${isOther && !column.isMetric && value !== column.value(baseline) ? html`<span class="visually-hidden"> (not as the baseline)</span>` : nothing}
    ${isOther && column.isMetric ? difference(column, value, column.value(baseline)) : nothing}`;
}

function kindOf(job, column, top, baseline) {
  const value = column.value(job);
  const isBest = column.isMetric && isThere(value) && value === top;
  const isChanged = baseline && job !== baseline && !column.isMetric && value !== column.value(baseline);
  return `${column.isMetric || typeof value === "number" ? "number" : ""} ${isBest ? "best" : ""} ${isChanged ? "changed" : ""}`;
}

/** The jobs in the order of a column; those without a value last. */
function sorted(jobs, columns, sort) {
  const key = sort.replace(/^-/, "");
  const column = { name: { value: (job) => job.name }, state: { value: (job) => job.state } }[key];
  const { value } = column ?? columns.find((one) => one.key === key) ?? {};
  if (!value) return jobs;
  const sign = sort.startsWith("-") ? -1 : 1;
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  return [...jobs].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (!isThere(a) || !isThere(b)) return Number(isThere(b)) - Number(isThere(a));
    return sign * compare(a, b);
  });
}

function head(view, { key, words, isMetric = false }, kind = "") {
  const direction = { [key]: "ascending", [`-${key}`]: "descending" }[view.sort];
  const order = isMetric ? [`-${key}`, key, null] : [key, `-${key}`, null];
  const next = order[order.indexOf(view.sort) + 1] ?? null;
  return html`<th scope="col" class=${kind} title=${key} aria-sort=${direction ?? nothing}><button type="button" class="sort" @click=${() => updateQuery({ sort: next })}>${words}${direction ? icon(direction === "descending" ? "down" : "up") : nothing}</button></th>`;
}

/** The table that the view shows: a row a job, or a column a job. */
function table(view, data, jobs, columns, tops) {
  const { baseline } = view;
  const name = (job) =>
    html`${swatch(data.colors.get(job.id))}<a class="name" href="/jobs/${job.id}">${job.name || "unnamed"}</a> <span class="soft small id">${job.id.slice(4, 8)}</span>${job === baseline ? html` <span class="tag">baseline</span>` : nothing}`;
  const cell = (job, column, at, words = column.words) =>
    html`<td class="${at === 0 && column.isMetric && !view.isTransposed ? "main" : ""} ${kindOf(job, column, tops.get(column.key), baseline)}" data-label=${words}><span>${content(job, column, tops.get(column.key), baseline)}</span></td>`;
  if (view.isTransposed)
    return html`<thead><tr><th scope="col">Setting or result</th>${jobs.map((job) => html`<th scope="col">${name(job)}</th>`)}</tr></thead>
      <tbody>${columns.map((column, at) => html`<tr><th scope="row" title=${column.key}>${column.words}</th>${jobs.map((job) => cell(job, column, at, job.name))}</tr>`)}</tbody>`;
  const isNumber = new Map(
    columns.map((column) => [column, column.isMetric || jobs.some((job) => typeof column.value(job) === "number")]),
  );
  const count = columns.filter((column) => column.isMetric).length;
  const row = (
    job,
  ) => html`<tr @pointerenter=${() => view.highlight(job.id)} @pointerleave=${() => view.highlight(null)}><th scope="row">${name(job)}</th>
      ${columns.slice(0, count).map((column, at) => cell(job, column, at))}<td class="c-state" data-label="State">${chip(job.state)}</td>${columns.slice(count).map((column) => cell(job, column, -1))}</tr>`;
  const titles = columns.map((column, at) =>
    head(view, column, `${isNumber.get(column) ? "number" : ""} ${at === 0 && column.isMetric ? "main" : ""}`),
  );
  return html`<thead><tr>${head(view, { key: "name", words: "Job" })}${titles.slice(0, count)}${head(view, { key: "state", words: "State" })}${titles.slice(count)}</tr></thead>
    <tbody>${jobs.map(row)}</tbody>`;
}

/** The jobs on a phone: a card each, with its settings folded. */
function cards(view, data, jobs, columns, tops) {
  const { baseline } = view;
  const line = (job, column) =>
    html`<div><dt>${column.words}</dt><dd class=${kindOf(job, column, tops.get(column.key), baseline)}>${content(job, column, tops.get(column.key), baseline)}</dd></div>`;
  const [results, settings] = [columns.filter((one) => one.isMetric), columns.filter((one) => !one.isMetric)];
  return html`<ul class="job-cards">${jobs.map(
    (
      job,
    ) => html`<li class="card"><p class="title">${swatch(data.colors.get(job.id))}<a class="name" href="/jobs/${job.id}">${job.name || "unnamed"}</a> <span class="soft small id">${job.id.slice(4, 8)}</span>${job === baseline ? html` <span class="tag">baseline</span>` : nothing} ${chip(job.state)}</p>
      <dl class="results">${results.map((column) => line(job, column))}</dl>
      ${settings.length ? html`<details><summary>Settings</summary><dl>${settings.map((column) => line(job, column))}</dl></details>` : nothing}</li>`,
  )}</ul>`;
}

/** Which results the table has. */
function resultMenu(view, { metrics }) {
  const names = [...new Set([...metrics, ...view.known])];
  const toggled = (name) => (metrics.includes(name) ? metrics.filter((one) => one !== name) : [...metrics, name]);
  return menu(
    html`Results${icon("down")}`,
    names.map((name) => ({
      words: label(name),
      isChecked: metrics.includes(name),
      act: () => updateQuery({ results: toggled(name).join(",") }),
    })),
    { name: "Results", key: view },
  );
}

export function differences(view, data) {
  const { comparison } = data;
  const { baseline, isNarrow } = view;
  const all = columnsOf(comparison);
  const isEvery = view.route.query.get("settings") === "all";
  const columns = all.filter((column) => isEvery || column.isOfAll);
  const jobs = sorted(view.shown, all, view.sort);
  const tops = new Map(columns.filter((column) => column.isMetric).map((column) => [column.key, best(jobs, column)]));
  const isTable = !isNarrow;
  const first = isTable ? (view.isTransposed ? COLUMNS : ROWS) : CARDS;
  const rows = jobs.slice(0, Math.max(first, view.rows));
  const partial = all.filter((column) => !column.isOfAll).length;
  return html`<section class="section" aria-label="Settings and metrics">
    <div class="bar"><h2>Results, and settings that differ</h2>
      ${
        comparison.jobs.length > 1
          ? html`<label class="inline">Baseline <select name="baseline" @change=${(event) => updateQuery({ baseline: event.target.value })}>
        <option value="">none</option>${comparison.jobs.slice(0, MOST_OPTIONS).map((job) => html`<option value=${job.id.slice(4)} ?selected=${job === baseline}>${isolated(job.name) || "unnamed"} ${job.id.slice(4, 8)}</option>`)}</select></label>`
          : nothing
      }
      ${isNarrow ? sortField(view, columns) : nothing}
      ${resultMenu(view, comparison)}
      ${partial ? html`<button type="button" aria-pressed=${String(isEvery)} @click=${() => updateQuery({ settings: isEvery ? null : "all" })}>${partial} ${partial === 1 ? "setting" : "settings"} of some jobs only</button>` : nothing}
      <div class="buttons right">${
        isTable
          ? html`<button type="button" aria-pressed=${String(view.isTransposed)} @click=${() => {
              view.isTransposed = !view.isTransposed;
            }}>Transpose</button>`
          : nothing
      }
      <button type="button" @click=${() => csv(comparison, jobs)}>CSV</button></div></div>
    ${comparison.settings.length ? nothing : html`<p class="soft">All settings of these jobs are equal.</p>`}
    ${baseline ? html`<p class="soft small">Differences: each job minus the baseline, <a href="/jobs/${baseline.id}">${baseline.name || "unnamed"}</a> ${baseline.id.slice(4, 8)}.</p>` : nothing}
    ${
      isTable
        ? html`<div class="grid-box jobs results-table ${view.isTransposed ? "transposed" : ""}" tabindex="0" role="region" aria-label="Results, and settings that differ"><table class="grid"><caption>Results, and settings that differ</caption>${table(view, data, rows, columns, tops)}</table></div>`
        : cards(view, data, rows, columns, tops)
    }
    ${
      jobs.length > rows.length
        ? html`<p class="buttons"><button type="button" @click=${() => {
            view.rows = rows.length + first;
          }}>Show ${Math.min(first, jobs.length - rows.length)} more of ${jobs.length.toLocaleString("en")} jobs</button></p>`
        : nothing
    }
  </section>`;
}

/** The order of cards, which have no heads to click. */
function sortField(view, columns) {
  const options = [
    { key: "", words: "as found" },
    { key: "name", words: "name" },
    ...columns.map(({ key, words, isMetric, isSmallGood }) => ({
      key: isMetric && !isSmallGood ? `-${key}` : key,
      words: isMetric ? `${words}, best first` : words,
    })),
  ];
  return html`<label class="inline">Order <select @change=${(event) => updateQuery({ sort: event.target.value })}>
    ${options.map((one) => html`<option value=${one.key} ?selected=${one.key === view.sort}>${one.words}</option>`)}</select></label>`;
}
