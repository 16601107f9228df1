// Jobs side by side: curves, settings that differ, seeds, relations.
import { html, nothing } from "../../vendor.js";
import { api, zone } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { updateQuery } from "../../app/router.js";
import { colorsFor } from "../../charts/palette.js";
import { icon } from "../../parts/icon.js";
import { empty } from "../../parts/states.js";
import { POINTS, curves } from "./curves.js";
import { differences } from "./differences.js";
import { lines, relations } from "./relations.js";
import "./seeds.js";
import "./configs.js";

const MOST_CURVES = 100; // jobs with curves
const CHIPS = 24;
const USUAL = ["test_accuracy", "test_loss", "accuracy", "loss"];

const whole = (id) => (id.startsWith("job_") ? id : `job_${id}`);

class CompareView extends View {
  static poll = 5000;
  static properties = {
    ...View.properties,
    brushed: { state: true },
    isTransposed: { state: true },
    part: { state: true },
  };

  constructor() {
    super();
    /** @type {Set<string> | null} ids that the axes let through; null: all */
    this.brushed = null;
    this.isTransposed = false;
    /** @type {{from: number, to: number, jobs: Map<string, any[]>} | null} finer points of the zoomed part */
    this.part = null;
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
  /** @returns {"jobs" | "sd" | "range"} */
  get lines() {
    const lines = this.route.query.get("lines");
    return lines === "sd" || lines === "range" ? lines : "jobs";
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
    return ["jobs", "q", "x", "metrics"].map((name) => query.get(name)).join("|");
  }

  heading(data) {
    return data.comparison ? `${data.comparison.total.toLocaleString("en")} jobs compared` : "Compare";
  }

  async load(_route, signal) {
    const { ids, q } = this;
    if (!ids.length && q === null) {
      const latest = await api.get("/v1/jobs", { query: { page_size: 2 }, signal });
      return { latest: latest.jobs };
    }
    const comparing = api.post("/v1/jobs:compare", ids.length ? { jobs: ids } : { q, time_zone: zone() }, { signal });
    // Jobs that the address names need not be waited for.
    const first = ids.length ? ids : (await comparing).jobs.map((job) => job.id);
    const [comparison, curves] = await Promise.all([comparing, this.loadCurves(first.slice(0, MOST_CURVES), signal)]);
    return { comparison, ...curves, colors: colorsFor(comparison.jobs.map((job) => job.id)) };
  }

  /** The names of all metrics of these jobs, and the curves of the chosen ones. */
  async loadCurves(ids, signal) {
    if (!ids.length) return { names: [], drawn: [], series: { jobs: [] } };
    const query = { jobs: ids.join(","), scope: this.x === "step" ? "step" : "epoch", x: this.x };
    const get = (more) => api.get("/v1/metrics", { query: { ...query, ...more }, signal });
    const wanted = this.metrics ?? USUAL;
    const [known, usual] = await Promise.all([get({ points: 2 }), get({ names: wanted.join(","), points: POINTS })]);
    const names = [...new Set(known.jobs.flatMap((job) => job.series.map((one) => one.name)))];
    const chosen = wanted.filter((name) => names.includes(name));
    if (chosen.length || !names.length) return { names, drawn: chosen, series: usual };
    const drawn = names.slice(0, 4);
    return { names, drawn, series: await get({ names: drawn.join(","), points: POINTS }) };
  }

  /** The jobs that the brushed axes let through. */
  get shown() {
    const { jobs } = this.data.comparison;
    return this.brushed ? jobs.filter((job) => this.brushed.has(job.id)) : jobs;
  }

  /** The jobs, if there are two that have profiles. */
  get profiled() {
    const { jobs } = this.data.comparison;
    return jobs.length === 2 && jobs.every((job) => job.state === "succeeded") ? jobs : [];
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
    const rows = lines(data);
    return html`
      <div class="head"><h1>Compare</h1><p class="summary soft">${
        comparison.compared < comparison.total
          ? `the newest ${comparison.compared.toLocaleString("en")} of ${comparison.total.toLocaleString("en")} jobs`
          : `${comparison.total.toLocaleString("en")} ${comparison.total === 1 ? "job" : "jobs"}`
      }
        ${this.brushed ? html` · ${this.brushed.size} chosen by the axes` : nothing}</p>
        ${this.profiled.length === 2 ? html`<div class="buttons"><a class="button" href="/profiles/diff?a=${this.profiled[1].id}&b=${this.profiled[0].id}">Compare profiles</a></div>` : nothing}</div>
      ${this.chips(data)}
      ${curves(this, data)}
      ${differences(this, data)}
      <ip-seeds .comparison=${comparison}></ip-seeds>
      ${relations(this, data, rows)}
      <ip-configs class="section" .jobs=${comparison.jobs}></ip-configs>`;
  }

  chips({ comparison, colors }) {
    const { jobs } = comparison;
    return html`<ul class="chips" aria-label="Compared jobs">${jobs.slice(0, CHIPS).map(
      (job) => html`<li class=${this.brushed && !this.brushed.has(job.id) ? "off" : ""}>
      <i class="swatch" .style=${`background: var(${colors.get(job.id).color})`}></i><a href="/jobs/${job.id}">${job.name || "unnamed"} <span class="soft small id">${job.id.slice(4, 8)}</span></a>
      ${jobs.length > 1 && jobs.length <= MOST_CURVES ? html`<button type="button" class="ghost icon" aria-label="Remove ${job.name} ${job.id.slice(4, 8)}" @click=${() => this.remove_(job.id)}>${icon("close")}</button>` : nothing}</li>`,
    )}
      ${jobs.length > CHIPS ? html`<li class="soft">and ${(jobs.length - CHIPS).toLocaleString("en")} more</li>` : nothing}</ul>`;
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
