// The curves of the compared jobs, one chart a metric.
import { html, nothing, repeat } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { isMerged, lineOf, withPart } from "../../charts/buckets.js";
import { isShare, isolated, label } from "../../lib/format.js";
import { updateQuery } from "../../app/router.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import "../../charts/curve.js";
import { LINES, grouped, hasGroups } from "./groups.js";

const AXES = {
  epoch: "epoch",
  step: "step",
  samples: "samples",
  training_time: "training time (s)",
  wall_time: "time (s)",
  share: "share of the training (%)",
};
const NEVER_SMOOTHED = /learning_rate|second_threshold/; // their steps are real
const GROUP = "compare";
const PERCENT = 100;

function toggled(list, name) {
  return list.includes(name) ? list.filter((one) => one !== name) : [...list, name];
}

/** Shows the same part of x in all charts. */
function zoom(view) {
  const [from, to] = [...view.querySelectorAll(".zoom input")].map((field) =>
    field.value === "" ? null : Number(field.value),
  );
  for (const chart of view.querySelectorAll("ip-curve")) {
    const xs = chart.data?.[0] ?? [];
    if (chart.plot && xs.length) chart.zoom(from ?? xs[0], to ?? xs.at(-1));
  }
  setTimeout(() => refine(view), 50);
}

/** Asks for the points of the part that is shown, where the overview has merged some. */
async function refine(view) {
  const chart = [...view.querySelectorAll("ip-curve")].find((one) => one.plot);
  const { series, drawn } = view.data;
  if (!chart?.isZoomed) {
    view.part = null;
    return;
  }
  const { min: from, max: to } = chart.plot.scales.x;
  const scale = view.x === "share" ? PERCENT : 1;
  if (
    (view.part?.from === from / scale && view.part?.to === to / scale) ||
    view.x === "wall_time" ||
    !series.jobs.some((job) => job.series.some(isMerged))
  )
    return;
  const query = {
    jobs: series.jobs.map((job) => job.job).join(","),
    scope: series.scope,
    x: view.x,
    names: drawn.join(","),
    points: view.points(series.jobs.length),
    from: from / scale,
    to: to / scale,
  };
  const finer = await api.get("/v1/metrics", { query, signal: view.signal }).catch(() => null);
  if (finer)
    view.part = { from: from / scale, to: to / scale, jobs: new Map(finer.jobs.map((job) => [job.job, job.series])) };
}

/** Writes the part that the pointer has chosen into the number fields. */
function read(view) {
  const chart = [...view.querySelectorAll("ip-curve")].find((one) => one.plot);
  if (!chart) return;
  const { min, max } = chart.plot.scales.x;
  const fields = view.querySelectorAll(".zoom input");
  fields[0].value = chart.isZoomed ? String(Number(min.toPrecision(4))) : "";
  fields[1].value = chart.isZoomed ? String(Number(max.toPrecision(4))) : "";
  refine(view);
}

const kept = new WeakMap(); // by the data: what is chosen, and its curves

/** The curves of a metric; the same object while the same is shown, so that nothing is drawn again. */
function seriesOf(name, view, data) {
  const known = kept.get(data) ?? kept.set(data, new Map()).get(data);
  const key = [view.lines, view.part, ...view.shown].map(idOf).join();
  if (known.get(name)?.key !== key) known.set(name, { key, series: seriesIn(name, view, data) });
  return known.get(name).series;
}

const ids = new WeakMap();
let count = 0;

/** Returns a text that differs for each object. */
function idOf(value) {
  if (typeof value !== "object" || value === null) return String(value);
  return ids.get(value) ?? ids.set(value, `#${++count}`).get(value);
}

function seriesIn(name, view, data) {
  const shown = new Set(view.shown.map((job) => job.id));
  const jobs = data.series.jobs.filter((job) => shown.has(job.job));
  const names = new Map();
  jobs.forEach((job) => names.set(job.name, (names.get(job.name) ?? 0) + 1));
  const scale = isShare(name) ? PERCENT : 1;
  const perJob = jobs.flatMap((job) => {
    const series = job.series.find((one) => one.name === name);
    if (!series) return [];
    const finer = view.part?.jobs.get(job.job)?.find((one) => one.name === name);
    const { x, y } = lineOf(finer ? withPart(series, finer, view.part.from, view.part.to) : series, scale);
    const first = view.x === "wall_time" ? x[0] : 0;
    const shift = (value) => (view.x === "share" ? PERCENT * value : value - first);
    return [
      {
        id: job.job,
        label:
          names.get(job.name) > 1 || !job.name ? `${isolated(job.name)} ${job.job.slice(4, 8)}` : isolated(job.name),
        ...data.colors.get(job.job),
        x: first || view.x === "share" ? x.map(shift) : x,
        y,
      },
    ];
  });
  return view.lines === "jobs" || !hasGroups(data.comparison) ? perJob : grouped(perJob, data.comparison, view.lines);
}

export function curves(view, data) {
  const { names, drawn } = data;
  const set =
    (name, convert = (text) => text) =>
    (event) =>
      updateQuery({ [name]: convert(event.target.value) });
  const axis = html`<label class="inline">x <select @change=${set("x", (value) => (value === "epoch" ? null : value))}>
        ${Object.entries(AXES).map(([key, words]) => html`<option value=${key} ?selected=${key === view.x}>${words}</option>`)}</select></label>`;
  if (!names.length) {
    const [shown, all] = [data.series.jobs.length, data.comparison.jobs.length];
    return html`<section class="section" aria-label="Curves"><div class="bar curve-bar"><h2>Curves</h2>${axis}</div>
      <p class="soft">${shown < all ? `The first ${shown} of these jobs` : "These jobs"} have no curves by ${AXES[view.x]} yet.</p></section>`;
  }
  return html`<section class="section" aria-label="Curves">
    <div class="bar curve-bar">
      <h2>Curves</h2>
      ${menu(
        html`Metrics${icon("down")}`,
        names.map((name) => ({
          words: label(name),
          isChecked: drawn.includes(name),
          act: () => updateQuery({ metrics: toggled(drawn, name).join(",") }),
        })),
        { name: "Metrics", key: view },
      )}
      ${axis}
      ${
        hasGroups(data.comparison)
          ? html`<label class="inline">Lines <select name="lines" @change=${set("lines", (value) => (value === view.usualLines ? null : value))}>
        ${Object.entries(LINES).map(([key, words]) => html`<option value=${key} ?selected=${key === view.lines}>${words}</option>`)}</select></label>`
          : nothing
      }
      <label class="inline">Smoothing <input type="range" min="0" max="0.99" step="0.01" .value=${String(view.smooth)} @input=${set("smooth", (value) => (Number(value) ? value : null))}>
        <output>${view.smooth.toFixed(2)}</output></label>
      <label class="inline"><input type="checkbox" .checked=${view.isLog} @change=${(event) => updateQuery({ log: event.target.checked ? "y" : null })}>Log y</label>
      <span class="inline zoom" role="group" aria-label="Part of the x axis"><label>from <input type="number" step="any" @change=${() => zoom(view)}></label> <label>to <input type="number" step="any" @change=${() => zoom(view)}></label></span>
    </div>
    <div class="curve-grid" @pointerup=${() => setTimeout(() => read(view), 50)}>${repeat(
      drawn,
      (name) => `${name} ${view.x}`,
      (name) => html`<figure class="card">
      <ip-curve .series=${seriesOf(name, view, data)} .x=${AXES[view.x]} .name=${label(name)} .unit=${isShare(name) ? "%" : ""} .log=${view.isLog}
        .smooth=${NEVER_SMOOTHED.test(name) ? 0 : view.smooth} .isRanked=${true} group=${GROUP}></ip-curve></figure>`,
    )}</div>
    ${data.comparison.jobs.length > data.series.jobs.length ? html`<p class="soft small">Curves of the first ${data.series.jobs.length} jobs.</p>` : nothing}
  </section>`;
}
