// The overview: what became of the job, its main figures, and its two main curves.
import "../../charts/curve.js";
import { api } from "../../lib/api.js";
import { bytes, isOver, metric, number, percent, phaseOf, plain } from "../../lib/format.js";
import { WHY } from "../../lib/waiting.js";
import { ago } from "../../parts/ago.js";
import { said } from "../../parts/said.js";
import { toast } from "../../parts/toast.js";
import { ref } from "../../vendor.js";
import { lineage, lineageOf } from "./lineage.js";
import { Tab, documentOf, html, nothing } from "./tab.js";
import { charts, curvesOf, titleOf, unitOf } from "./series.js";

const LAST_LINES = 20;
const MOST_DEAD = 0.2; // of a layer; the report says so, too
const HINTS = {
  out_of_memory: "Use a smaller training.batch_size, fewer data.steps or smaller layers, or a worker with more memory.",
  build_failed: "The log has the compiler's whole output.",
  sandbox_unavailable: "Install bubblewrap on the workers.",
  diverged: "Lower training.optimizer.learning_rate, or set training.gradient_clipping.",
  data_unavailable: "Put the data set into the data directory of a worker, or upload it.",
  data_invalid: "Check the file; the message names the place.",
};

/** Scrolls to the last line. @param {Element | undefined} box */
const toEnd = (box) => { if (box) setTimeout(() => { box.scrollTop = box.scrollHeight; }); };

class Overview extends Tab {
  /** The last lines of the log of a job that failed, the neurons of a completed one, and the lineage. */
  async load(job, signal) {
    const [lines, spikes, family] = await Promise.all([
      job.state === "failed" ? this.lastLines(job, signal) : [],
      job.state === "succeeded" ? documentOf(job.id, "spikes", signal).catch(() => null) : null,
      lineageOf(job, signal).catch(() => null),
    ]);
    return { lines, spikes, family };
  }

  async lastLines(job, signal) {
    const lines = [];
    for (let back = 200; ; back *= 8) {
      const after = Math.max(0, job.last_seq - back);
      const { events } = await api.get(`/v1/jobs/${job.id}/events`, { query: { kind: "log", after, limit: 1000 }, signal });
      if (events.length >= LAST_LINES || after === 0 || back > 10_000) return [...lines, ...events].slice(-LAST_LINES);
    }
  }

  draw({ lines, spikes, family }) {
    const { job, store } = this;
    return html`
      ${this.situation(job, lines)}
      ${this.figures(job)}
      ${this.notices(job, spikes)}
      ${this.curves(store)}
      ${lineage(job, family)}
      ${this.notes(job)}`;
  }

  situation(job, lines) {
    const message = job.message && job.state !== "succeeded" ? job.message : "";
    if (job.waiting_on && job.state !== "paused") return waiting(job.waiting_on);
    if (job.state === "failed") {
      return html`<section class="card outcome failed" role="alert">
        <h2>Failed${job.reason ? `: ${plain(job.reason)}` : ""}</h2>
        <p>${message}</p>
        ${HINTS[job.reason] ? html`<p>${HINTS[job.reason]}</p>` : nothing}
        ${lines.length ? html`<h3>The last lines of its log</h3>
          <pre class="tail" tabindex="0" ${ref(toEnd)}>${lines.map((line) => html`<span class=${line.level}>${line.message}</span>\n`)}</pre>` : nothing}
        <p class="buttons"><a class="button" href="/jobs/${job.id}/log">Whole log</a><a class="button" href="/new?from=${job.id}">Clone and change</a></p>
      </section>`;
    }
    if (job.state === "paused") {
      const { store } = this;
      return html`<section class="card outcome">
        <h2>Paused ${ago(job.updated_at)}</h2>
        <p class="soft">${store?.checkpoint ? `It resumes from the checkpoint of step ${number(store.checkpoint.step)}, epoch ${number(store.checkpoint.epoch)}.`
          : "It starts from the beginning when it is resumed."} Its place and its device are free for others until then.</p>
      </section>`;
    }
    return message && !phaseOf(job.state) ? html`<p class="note">${message}</p>` : nothing;
  }

  figures(job) {
    const list = mainFigures(job);
    return list.length ? html`<dl class="figures job-figures">${list.map(([name, value, note]) => html`<div>
      <dt>${name}</dt><dd>${value}</dd>${note ? html`<dd class="soft small">${note}</dd>` : nothing}</div>`)}</dl>` : nothing;
  }

  /** What a person should look at before trusting the figures. */
  notices(job, spikes) {
    const dropped = job.summary?.dropped_spikes;
    const dead = (spikes?.layers ?? []).filter((one) => one.dead?.length > MOST_DEAD * one.neurons);
    return html`${dead.map((one) => html`<p class="note">${percent(one.dead.length / one.neurons)} of the neurons of ${/^\d+$/.test(String(one.layer)) ? `layer ${one.layer}` : one.layer} never spike.
        Raise <code>network.initial_membrane_std</code>, or lower its threshold. <a href="/jobs/${job.id}/spikes">Spikes</a></p>`)}
      ${dropped ? html`<p class="note">Layers dropped ${number(dropped)} spikes, which exceeded their capacity. <a href="/jobs/${job.id}/layers">Layers</a></p>` : nothing}`;
  }

  curves(store) {
    const all = [...(store?.series.values() ?? [])].filter(({ name }) => /^(test_|validation_)?(accuracy|mae|loss)$/.test(name));
    const { groups } = charts(all);
    if (!groups.length) return phaseOf(this.job.state) && this.job.spec?.kind !== "poplar_program" ? html`<p class="soft">Curves appear with the first training step.</p>` : nothing;
    return html`<section class="section"><h2 class="visually-hidden">Learning curves</h2><div class="chart-grid">
      ${groups[0][1].map(([kind, list]) => html`<figure class="card">
        <ip-curve .series=${curvesOf(list, "epoch")} .x=${"epoch"} .name=${titleOf(kind)} .unit=${unitOf(kind)} group="job"></ip-curve>
      </figure>`)}
    </div></section>`;
  }

  notes(job) {
    const save = async (event) => {
      event.preventDefault();
      try {
        await api.patch(`/v1/jobs/${job.id}`, { notes: event.target.elements.notes.value });
        toast("Notes saved");
      } catch (error) {
        toast(error.message, { isBad: true });
      }
    };
    return html`<details class="section notes" ?open=${Boolean(job.notes)}><summary>Notes</summary>
      <form @submit=${save}><textarea name="notes" rows="4" aria-label="Notes" .value=${job.notes ?? ""}></textarea>
      <p class="buttons"><button type="submit">Save</button></p></form></details>`;
  }
}

function waiting(wait) {
  const place = wait.position ? `Number ${wait.position} of ${wait.of} in the queue.` : "";
  return html`<section class="card outcome">
    <h2>Waiting</h2>
    <p>${place} ${WHY[wait.reason] ?? plain(wait.reason)}</p>
    ${wait.detail ? html`<p class="soft">${said(wait.detail)}</p>` : nothing}
    <p class="soft">${wait.estimated_start ? html`Expected start: ${ago(wait.estimated_start)}. ` : nothing}
      ${wait.holder ? html`The agent is held by <a href="/jobs/${wait.holder}">${wait.holder}</a>${wait.holder_device ? ` (${wait.holder_device})` : ""}.` : nothing}</p>
  </section>`;
}

/** Six figures at most: [name, value, note]. */
function mainFigures(job) {
  const { summary, progress } = job;
  const values = summary ?? progress?.evaluated?.values;
  if (!values) return [];
  const split = progress?.held_out ?? "test";
  const epoch = summary ? summary.kept_epoch : progress.evaluated.epoch;
  const ofEpoch = epoch === undefined ? "" : `epoch ${number(epoch)}`;
  const list = [];
  if (values.exit_status !== undefined) list.push(["exit status", number(values.exit_status), "of the program"]);
  if (values.emulated_cycles !== undefined) list.push(["cycles", number(values.emulated_cycles), "of the first engine, emulated"]);
  if (values.build_seconds !== undefined) list.push(["build", metric("run_seconds", values.build_seconds), ""], ["run", metric("run_seconds", values.run_seconds), ""]);
  if (values.peak_memory_bytes !== undefined) list.push(["peak memory", bytes(values.peak_memory_bytes), "of all its processes"]);
  if (values.test_accuracy !== undefined) list.push([`${split} accuracy`, percent(values.test_accuracy), ofEpoch]);
  if (values.test_mae !== undefined) list.push([`${split} mean absolute error`, number(values.test_mae), ofEpoch]);
  if (values.test_loss !== undefined) list.push([`${split} loss`, number(values.test_loss), ofEpoch]);
  if (values.validation_accuracy !== undefined) list.push(["validation accuracy", percent(values.validation_accuracy), ofEpoch]);
  if (values.validation_mae !== undefined) list.push(["validation mean absolute error", number(values.validation_mae), ofEpoch]);
  if (values.test_r2 !== undefined) list.push([`${split} R²`, number(values.test_r2), ofEpoch]);
  if (values.accuracy !== undefined) list.push(["training accuracy", percent(values.accuracy), ofEpoch && `mean of ${ofEpoch}`]);
  if (progress?.epochs) list.push(["epochs", `${number(summary?.epochs ?? progress.epoch)} of ${number(job.spec?.training?.epochs ?? progress.epochs)}`, ""]);
  if (values.run_seconds !== undefined && values.exit_status === undefined) list.push(["training time", metric("run_seconds", values.run_seconds), ""]);
  if (values.samples_per_second !== undefined) list.push(["samples/s", number(values.samples_per_second), isOver(job.state) ? "in training steps" : ""]);
  return list.slice(0, 6).map(([name, value, note]) => [name.charAt(0).toUpperCase() + name.slice(1), value, note]);
}

customElements.define("ip-job-overview", Overview);
