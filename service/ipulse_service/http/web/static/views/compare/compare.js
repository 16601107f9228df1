// Jobs side by side: curves, settings that differ, groups, relations.
import { html, nothing } from "../../vendor.js";
import { api, zone } from "../../lib/api.js";
import { isOver, isolated, label, metric, plain } from "../../lib/format.js";
import { isNarrow, onNarrow } from "../../lib/narrow.js";
import { fullId } from "../../lib/ids.js";
import { names } from "../../lib/query.js";
import { View } from "../../app/view.js";
import { updateQuery } from "../../app/router.js";
import { colorsFor } from "../../charts/palette.js";
import { swatch } from "../../charts/swatch.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { savedViews } from "../../parts/saved_views.js";
import { empty } from "../../parts/states.js";
import { curves } from "./curves.js";
import { columnsOf, differences } from "./differences.js";
import { hasGroups } from "./groups.js";
import { lines, relations } from "./relations.js";
import "./group_table.js";
import "./configs.js";

const MOST_CURVES = 200; // jobs with curves
const MOST_POINTS = 100_000; // of a chart
const POINTS = 1000; // of a curve
const FEW = 16; // jobs, of which each has a line also if there are groups
const CHIPS = 24;
const RECENT = 20; // jobs that may be added
const MANY = 50; // jobs, of which two charts are drawn at first
const USUAL = ["test_accuracy", "test_loss", "accuracy", "loss"];
const FIELDS = ["name", "device"]; // that group jobs as settings do
const JOBS = ["jobs", "q"]; // of the address; the rest is how they are shown

const whole = (id) => (/^(job_|latest)/.test(id) ? id : `job_${id}`);

class CompareView extends View {
  static poll = 5000;
  static properties = {
    ...View.properties,
    brushed: { state: true },
    isTransposed: { state: true },
    part: { state: true },
    rows: { state: true },
    known: { state: true },
    recent: { state: true },
  };

  constructor() {
    super();
    /** @type {Set<string> | null} ids that the axes let through; null: all */
    this.brushed = null;
    this.isTransposed = false;
    /** @type {{from: number, to: number, jobs: Map<string, any[]>} | null} finer points of the zoomed part */
    this.part = null;
    this.rows = 0; // of the table, more than at first
    /** @type {string[]} the names of metrics */
    this.known = [];
    /** @type {any[]} the newest jobs, which may be added */
    this.recent = [];
    /** @type {any} the curves that were loaded last, and of what */
    this.loaded = null;
  }

  connectedCallback() {
    super.connectedCallback();
    this.endNarrow = onNarrow(() => this.requestUpdate());
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.endNarrow();
  }

  get isNarrow() {
    return isNarrow();
  }
  get q() {
    return this.route.query.get("q");
  }
  get ids() {
    return (this.route.query.get("jobs") ?? "").split(",").filter(Boolean).map(whole);
  }
  get x() {
    return this.route.query.get("x") ?? "epoch";
  }
  get smooth() {
    return Math.min(0.99, Math.max(0, Number(this.route.query.get("smooth")) || 0));
  }
  get find() {
    return this.route.query.get("find") ?? "";
  }
  get sort() {
    return this.route.query.get("sort") ?? "";
  }

  /** What makes a group: "" for all settings but the seed, "none", or names of settings. */
  get group() {
    return this.route.query.get("group") ?? "";
  }

  /** The lines that are drawn where the address names none: those of groups if there are many jobs. */
  get usualLines() {
    const { comparison, colors } = this.data;
    return colors.size > FEW && hasGroups(comparison) && 2 * comparison.groups.length <= colors.size ? "sd" : "jobs";
  }

  /** @returns {"jobs" | "sd" | "range"} */
  get lines() {
    const lines = this.route.query.get("lines");
    return lines === "jobs" || lines === "sd" || lines === "range" ? lines : this.usualLines;
  }

  /** The job that others are measured against. */
  get baseline() {
    return this.data.comparison.jobs.find((job) => job.id === whole(this.route.query.get("baseline") ?? ""));
  }

  get isLog() {
    return this.route.query.get("log") === "y";
  }
  get metrics() {
    return this.route.query.get("metrics")?.split(",") ?? null;
  }

  loadKey(route) {
    const { query } = route;
    return ["jobs", "q", "x", "metrics", "group", "results"].map((name) => query.get(name)).join("|");
  }

  heading(data) {
    return data.comparison ? `${data.comparison.total.toLocaleString("en")} jobs compared` : "Compare";
  }

  async load(_route, signal) {
    const { q, group } = this;
    const ids = await Promise.all(this.ids.map((id) => fullId(id, signal)));
    if (ids.join() !== this.ids.join()) updateQuery({ jobs: ids.join(",") });
    if (!ids.length && q === null) {
      const latest = await api.get("/v1/jobs", { query: { page_size: 2 }, signal });
      return { latest: latest.jobs };
    }
    const body = {
      ...(ids.length ? { jobs: ids } : { q, time_zone: zone() }),
      group_by: group ? (group === "none" ? [] : names(group)) : null,
      metrics: names(this.route.query.get("results")).length ? names(this.route.query.get("results")) : null,
    };
    const comparing = api.post("/v1/jobs:compare", body, { signal });
    // Jobs that the address names need not be waited for.
    const first = ids.length ? ids : (await comparing).jobs.map((job) => job.id);
    const [comparison, found] = await Promise.all([comparing, this.loadCurves(first.slice(0, MOST_CURVES), signal)]);
    const text = JSON.stringify(comparison);
    if (this.data?.text === text && this.data.series === found.series) return this.data; // nothing is drawn again
    const drawn = found.series.jobs.filter(({ series }) => series.length).map(({ job }) => job);
    if (!this.data?.comparison) {
      this.loadNames();
      if (this.q === null) this.loadRecent();
    }
    return { comparison, text, ...found, colors: colorsFor(drawn) };
  }

  /** The names of metrics that a column may have. */
  async loadNames() {
    const query = this.q === null ? {} : { q: this.q };
    const found = await api.get("/v1/jobs:columns", { query, signal: this.signal }).catch(() => null);
    this.known = (found?.columns ?? []).filter((one) => one.kind === "metric").map((one) => one.name);
  }

  async loadRecent() {
    const query = { page_size: RECENT };
    const found = await api.get("/v1/jobs", { query, signal: this.signal }).catch(() => null);
    this.recent = found?.jobs ?? [];
  }

  /** The names of all metrics of these jobs, and the curves of the chosen ones. Those of ended jobs stay. */
  async loadCurves(ids, signal) {
    const key = JSON.stringify([ids, this.x, this.metrics]);
    if (this.loaded?.key === key && this.loaded.isOver) return this.loaded.found;
    const found = await this.fetchCurves(ids, signal);
    this.loaded = { key, found, isOver: found.series.jobs.every((job) => isOver(job.state)) };
    return found;
  }

  async fetchCurves(ids, signal) {
    if (!ids.length) return { names: [], drawn: [], series: { jobs: [] } };
    const query = { jobs: ids.join(","), scope: this.x === "step" ? "step" : "epoch", x: this.x, compact: "true" };
    const get = (more) => api.get("/v1/metrics", { query: { ...query, ...more }, signal });
    const wanted = this.metrics ?? (ids.length > MANY ? USUAL.slice(0, 2) : USUAL);
    const points = this.points(ids.length);
    const [known, usual] = await Promise.all([get({ points: 2 }), get({ names: wanted.join(","), points })]);
    const all = [...new Set(known.jobs.flatMap((job) => job.series.map((one) => one.name)))];
    const chosen = wanted.filter((name) => all.includes(name));
    if (chosen.length || !all.length) return { names: all, drawn: chosen, series: usual };
    const drawn = all.slice(0, 4);
    return { names: all, drawn, series: await get({ names: drawn.join(","), points }) };
  }

  /** The points of each of so many curves of a chart. */
  points(count) {
    return Math.min(POINTS, Math.floor(MOST_POINTS / count));
  }

  /** The jobs that the brushed axes and the words let through. */
  get shown() {
    const { jobs } = this.data.comparison;
    const words = this.find.toLowerCase().split(/\s+/).filter(Boolean);
    return jobs.filter((job) => (!this.brushed || this.brushed.has(job.id)) && this.isFound(job, words));
  }

  /** Whether each word begins one of the name, id, state, tags or settings of a job; a number is one of them. */
  isFound(job, words) {
    if (!words.length) return true;
    const settings = columnsOf(this.data.comparison)
      .filter((column) => !column.isMetric)
      .map((column) => `${column.words} ${metric(column.key, column.value(job))}`);
    const text = [job.name, job.id, job.id.slice(4), job.state, ...job.tags, ...settings].join(" ").toLowerCase();
    const parts = text.split(/[\s,/-]+/);
    return words.every((word) =>
      parts.some((part) => part === word || (Number.isNaN(Number(word)) && part.startsWith(word))),
    );
  }

  /** The jobs, if there are two that have profiles. */
  get profiled() {
    const { jobs } = this.data.comparison;
    return jobs.length === 2 && jobs.every((job) => job.state === "succeeded") ? jobs : [];
  }

  /** Lets the curve of a job stand out in all charts. @param {string | null} id */
  highlight(id) {
    for (const chart of /** @type {NodeListOf<any>} */ (this.querySelectorAll("ip-curve"))) chart.highlight(id);
  }

  add(id) {
    const ids = [...this.data.comparison.jobs.map((job) => job.id), id];
    updateQuery({ jobs: ids.map((one) => one.slice(4)).join(",") });
  }

  remove_(id) {
    const left = this.data.comparison.jobs.map((job) => job.id).filter((one) => one !== id);
    updateQuery({ jobs: left.map((one) => one.slice(4)).join(","), q: null });
  }

  view(data) {
    if (!data.comparison) return this.nothingChosen(data.latest);
    const { comparison } = data;
    if (comparison.jobs.length === 0)
      return empty({
        title: "No job matches",
        text: html`<code>${this.q}</code>`,
        action: { words: "All jobs", href: "/jobs" },
      });
    const rows = lines(this, data);
    const isLess = this.shown.length < comparison.jobs.length;
    return html`
      <div class="head"><h1>Compare</h1><p class="summary soft">${
        comparison.compared < comparison.total
          ? `the newest ${comparison.compared.toLocaleString("en")} of ${comparison.total.toLocaleString("en")} jobs`
          : `${comparison.total.toLocaleString("en")} ${comparison.total === 1 ? "job" : "jobs"}`
      }
        ${isLess ? html` · ${this.shown.length.toLocaleString("en")} shown` : nothing}
        ${this.brushed ? html` · ${this.brushed.size} chosen by the axes` : nothing}</p>
        <div class="buttons">${this.adding(comparison)}${this.profiled.length === 2 ? html`<a class="button" href="/profiles/diff?a=${this.profiled[1].id}&b=${this.profiled[0].id}">Compare profiles</a>` : nothing}</div></div>
      ${this.bar(comparison)}
      ${comparison.jobs.length > CHIPS ? nothing : this.chips(data)}
      ${curves(this, data)}
      ${differences(this, data)}
      <ip-group-table .comparison=${comparison} .group=${this.group}></ip-group-table>
      ${relations(this, data, rows)}
      <ip-configs class="section" .jobs=${comparison.jobs}></ip-configs>`;
  }

  /** Finds jobs, groups them, and keeps views. */
  bar(comparison) {
    if (comparison.jobs.length < 2) return nothing;
    const { query } = this.route;
    const parts = [...query].filter(([name]) => !JOBS.includes(name));
    const jobs = [...query].filter(([name]) => JOBS.includes(name));
    return html`<div class="bar"><input type="search" class="find" aria-label="Find jobs" placeholder="Find by name, tag, state or setting" .value=${this.find}
        @input=${(event) => {
          clearTimeout(this.typing);
          this.typing = setTimeout(() => updateQuery({ find: event.target.value }), 150);
        }}>
      ${menu(html`Group: ${this.groupWords(comparison)}${icon("down")}`, this.groupItems(comparison), { name: "Group", key: this })}
      ${savedViews(this, {
        kept: "ipulse-compare-views",
        present: new URLSearchParams(parts).toString(),
        address: (text) => `/compare?${new URLSearchParams([...jobs, ...new URLSearchParams(text)])}`,
        hint: "Groups, curves, axes, results and order, not the jobs",
      })}</div>`;
  }

  groupWords(comparison) {
    if (!this.group) return "all but the seed";
    if (this.group === "none") return "none";
    const short = new Map(comparison.settings.map((one) => [one.name, one.label]));
    return comparison.group_by.map((name) => label(short.get(name) ?? name)).join(", ");
  }

  groupItems(comparison) {
    const chosen = this.group && this.group !== "none" ? names(this.group) : [];
    const toggled = (name) => (chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
    return [
      { words: "all but the seed", act: () => updateQuery({ group: null }), isChecked: !this.group },
      { words: "none", act: () => updateQuery({ group: "none" }), isChecked: this.group === "none" },
      ...[...comparison.settings, ...FIELDS.map((name) => ({ name, label: name }))].map((one) => ({
        words: label(one.label),
        act: () => updateQuery({ group: toggled(one.name).join(",") }),
        isChecked: chosen.includes(one.name),
      })),
    ];
  }

  /** Adds one of the newest jobs to those that the address names. */
  adding({ jobs }) {
    const others = this.recent.filter(({ id }) => !jobs.some((job) => job.id === id));
    if (!others.length) return nothing;
    const items = others.map((job) => ({
      words: `${isolated(job.name) || "unnamed"} ${job.id.slice(4, 8)}, ${plain(job.state)}`,
      act: () => this.add(job.id),
    }));
    return menu(html`${icon("plus")}Add a job`, items, { name: "Add a job", key: this });
  }

  chips({ comparison, colors }) {
    const { jobs } = comparison;
    const shown = new Set(this.shown);
    return html`<ul class="chips" aria-label="Compared jobs">${jobs.map(
      (
        job,
      ) => html`<li class=${shown.has(job) ? "" : "off"} @pointerenter=${() => this.highlight(job.id)} @pointerleave=${() => this.highlight(null)}>
      ${colors.has(job.id) ? swatch(colors.get(job.id)) : nothing}<a href="/jobs/${job.id}"><bdi>${job.name || "unnamed"}</bdi> <span class="soft small id">${job.id.slice(4, 8)}</span></a>
      ${jobs.length > 1 ? html`<button type="button" class="ghost icon" aria-label="Remove ${job.name} ${job.id.slice(4, 8)}" @click=${() => this.remove_(job.id)}>${icon("close")}</button>` : nothing}</li>`,
    )}</ul>`;
  }

  nothingChosen(latest) {
    return html`<h1 class="visually-hidden">Compare</h1>${empty({
      title: "Nothing to compare yet",
      text: "Select jobs in the list with their boxes, or with x on the keyboard, then press Compare.",
      action:
        latest.length === 2
          ? {
              words: "Compare the last two jobs",
              href: `/compare?jobs=${latest.map((job) => job.id.slice(4)).join(",")}`,
            }
          : { words: "All jobs", href: "/jobs" },
      command: "ipulse compare latest latest~1",
    })}`;
  }
}
customElements.define("ip-compare", CompareView);
