// Where a job comes from, and which jobs began with its checkpoint or weights.
import { html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { number, percent } from "../../lib/format.js";
import { chip } from "../../parts/chip.js";

const MOST = 100; // jobs that are asked for
const MOST_CHILDREN = 8; // of a job that are shown

/**
 * The jobs of a job's lineage, the oldest first, how many there are, and its data set as NAME@VERSION.
 * @param {any} job
 * @param {AbortSignal} signal
 */
export async function lineageOf(job, signal) {
  const query = { q: `lineage:${job.id}`, sort: "created", columns: "dataset", page_size: MOST, count: "true" };
  const { jobs, total } = await api.get("/v1/jobs", { query, signal });
  return { jobs, total, set: jobs.find((one) => one.id === job.id)?.values?.dataset ?? null };
}

/**
 * The data set and the sweep of a job, and its lineage as a tree.
 * @param {any} job
 * @param {{jobs: any[], total: number, set: string | null} | null} found
 */
export function lineage(job, found) {
  const { group, start_from: start } = job;
  const jobs = found?.jobs ?? [];
  const isAlone = jobs.length < 2;
  const set = found?.set;
  const facts = [
    group?.startsWith("swp_") ? html`<span>A trial of <a href="/sweeps/${group}">a sweep</a></span>` : null,
    set
      ? html`<span>Data set <a href="/datasets/${set.split("@").map(encodeURIComponent).join("/")}">${set}</a></span>`
      : null,
    start && isAlone ? html`<span>${began(start)} ${start.job}, which is deleted</span>` : null,
  ].filter(Boolean);
  return html`
    ${facts.length ? html`<p class="soft lineage">${facts}</p>` : nothing}
    ${
      isAlone
        ? nothing
        : html`<section class="section"><h2>Lineage</h2>${tree(job, jobs)}
      ${found.total > jobs.length ? html`<p class="soft small"><a href="/jobs?q=lineage:${job.id}">All ${number(found.total)} jobs</a></p>` : nothing}</section>`
    }`;
}

const began = (start) =>
  start.mode === "weights" ? "Began with the weights of" : `Continues from epoch ${number(start.epoch)} of`;

function tree(job, jobs) {
  const ids = new Set(jobs.map((one) => one.id));
  const children = new Map();
  for (const one of jobs) {
    const parent = ids.has(one.start_from?.job) ? one.start_from.job : null;
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  const branch = (parent) => {
    const all = children.get(parent) ?? [];
    const shown = all.filter((one, at) => at < MOST_CHILDREN || leadsTo(one, job.id, children));
    return all.length
      ? html`<ul>${shown.map((one) => html`<li>${row(one, one.id === job.id, parent !== null)}${branch(one.id)}</li>`)}
      ${shown.length < all.length ? html`<li><a href="/jobs?q=${parent ? `start_from:${parent}` : `lineage:${job.id}`}">${number(all.length - shown.length)} more</a></li>` : nothing}</ul>`
      : nothing;
  };
  return html`<nav class="card family" aria-label="Lineage">${branch(null)}</nav>`;
}

/** Whether a job or one that descends from it has the id. */
function leadsTo(job, id, children) {
  return job.id === id || (children.get(job.id) ?? []).some((one) => leadsTo(one, id, children));
}

function row(job, isThis, hasParent) {
  const { id, name, start_from: start, state, summary } = job;
  const title = html`${name || "unnamed"} <span class="id">${id.slice(4, 8)}</span>`;
  const accuracy = summary?.test_accuracy;
  return html`<span class="member">
    ${isThis ? html`<strong aria-current="page">${title}</strong>` : html`<a href="/jobs/${id}">${title}</a>`} ${chip(state)}
    ${hasParent ? html`<span class="soft small">${start.mode === "weights" ? "from its weights" : `from epoch ${number(start.epoch)}`}</span>` : nothing}
    ${accuracy === undefined ? nothing : html`<span class="soft small">test ${percent(accuracy)}</span>`}</span>`;
}
