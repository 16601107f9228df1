// The overview: what became of the job, its main figures, and its two main curves.
import "../../charts/curve.js";
import { api } from "../../lib/api.js";
import { bandText, bytes, isOver, layerTitle, metric, number, percent, phaseOf } from "../../lib/format.js";
import { CODE_KINDS } from "../../lib/kinds.js";
import { toast } from "../../parts/toast.js";
import { lineage, lineageOf } from "./lineage.js";
import { lastLines, outcome } from "./outcome.js";
import { Tab, documentOf, html, nothing } from "./tab.js";
import { charts, curvesOf, titleOf, unitOf } from "./series.js";

const MOST_DEAD = 0.2; // of a layer; the report says so, too

class Overview extends Tab {
  /** A pause or a loss leaves other last lines. @param {any} before */
  needsLoad(before) {
    return super.needsLoad(before) || before.state !== this.job.state;
  }

  /** The last lines of the log of a job that has stopped, the neurons of a completed one, and the lineage. */
  async load(job, signal) {
    const [lines, spikes, family] = await Promise.all([
      lastLines(job, signal),
      job.state === "succeeded" ? documentOf(job.id, "spikes", signal).catch(() => null) : null,
      lineageOf(job, signal).catch(() => null),
    ]);
    return { lines, spikes, family };
  }

  draw({ lines, spikes, family }) {
    const { job, store } = this;
    return html`
      ${outcome(job, store, lines)}
      ${this.figures(job)}
      ${operations(job.summary)}
      ${this.notices(job, spikes)}
      ${this.curves(store)}
      ${lineage(job, family)}
      ${this.notes(job)}`;
  }

  figures(job) {
    const list = mainFigures(job);
    return list.length
      ? html`<dl class="figures job-figures">${list.map(
          ([name, value, note]) => html`<div>
      <dt>${name}</dt><dd>${value}</dd>${note ? html`<dd class="soft small">${note}</dd>` : nothing}</div>`,
        )}</dl>`
      : nothing;
  }

  /** What a person should look at before trusting the figures. */
  notices(job, spikes) {
    const dropped = job.summary?.dropped_spikes;
    const dead = (spikes?.layers ?? []).filter((one) => one.dead?.length > MOST_DEAD * one.neurons);
    return html`${dead.map(
      (
        one,
      ) => html`<p class="note">${percent(one.dead.length / one.neurons)} of the neurons of ${layerTitle(one.layer, one.name)} never spike.
        Raise <code>network.initial_membrane_std</code>, or lower its threshold. <a href="/jobs/${job.id}/spikes">Spikes</a></p>`,
    )}
      ${dropped ? html`<p class="note">Layers dropped ${number(dropped)} spikes, which exceeded their capacity. <a href="/jobs/${job.id}/layers">Layers</a></p>` : nothing}`;
  }

  curves(store) {
    const all = [...(store?.series.values() ?? [])].filter(({ name }) =>
      /^(test_|validation_)?(accuracy|mae|loss)$/.test(name),
    );
    const { groups } = charts(all);
    if (!groups.length)
      return phaseOf(this.job.state) && !CODE_KINDS[this.job.spec?.kind]
        ? html`<p class="soft">Curves appear with the first training step.</p>`
        : nothing;
    return html`<section class="section"><h2 class="visually-hidden">Learning curves</h2><div class="chart-grid">
      ${groups[0][1].map(
        ([kind, list]) => html`<figure class="card">
        <ip-curve .series=${curvesOf(list, "epoch")} .x=${"epoch"} .name=${titleOf(kind)} .unit=${unitOf(kind)} group="job"></ip-curve>
      </figure>`,
      )}
    </div></section>`;
  }

  notes(job) {
    if (!job.allowed.includes("change"))
      return job.notes
        ? html`<details class="section notes" open><summary>Notes</summary><p class="written">${job.notes}</p></details>`
        : nothing;
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

/** What a sample costs, folded: counted operations, and the estimate of the first table. */
function operations(values) {
  if (values?.parameters === undefined) return nothing;
  const rows = [
    ["Synaptic operations", values.synops, "SynOps of a test sample"],
    ["Effective", values.synops_effective, "without weights of 0"],
    ["Dense", values.synops_dense, "every sender in every step"],
    ["Neuron updates", values.neuron_updates, "neurons × steps"],
    ["Parameters", values.parameters, bytes(values.footprint_bytes)],
    [
      "Energy",
      values.energy_nj,
      "nJ, estimated: 45 nm CMOS (Horowitz 2014), arithmetic only; the report has another table",
    ],
  ].filter(([, value]) => value !== undefined);
  return html`<details class="section"><summary>Operations and energy</summary>
    <dl class="figures job-figures">${rows.map(
      ([name, value, note]) =>
        html`<div><dt>${name}</dt><dd>${number(value)}</dd><dd class="soft small">${note}</dd></div>`,
    )}
      <div><dt>Sparsity</dt><dd>${percent(values.activation_sparsity)}</dd><dd class="soft small">of activations; ${percent(values.connection_sparsity)} of weights</dd></div>
    </dl></details>`;
}

/** Six figures at most: [name, value, note]. */
function mainFigures(job) {
  const { summary, progress, cycles_band: band } = job;
  const values = summary ?? progress?.evaluated?.values;
  if (!values) return [];
  const split = progress?.held_out ?? "test";
  const epoch = summary ? summary.kept_epoch : progress.evaluated.epoch;
  const ofEpoch = epoch === undefined ? "" : `epoch ${number(epoch)}`;
  const isScript = job.spec?.kind === "script";
  const list = [];
  if (values.exit_status !== undefined)
    list.push(["exit status", number(values.exit_status), isScript ? "of the script" : "of the program"]);
  if (values.files_not_stored !== undefined)
    list.push(["files not stored", number(values.files_not_stored), "the log says why"]);
  if (values.emulated_cycles !== undefined)
    list.push([
      "cycles",
      number(values.emulated_cycles),
      `of ${isScript ? "custom ops" : "the first engine"}, emulated${band ? `; ${bandText(band)}` : ""}`,
    ]);
  if (values.build_seconds !== undefined)
    list.push(
      ["build", metric("run_seconds", values.build_seconds), ""],
      ["run", metric("run_seconds", values.run_seconds), ""],
    );
  if (values.peak_memory_bytes !== undefined)
    list.push(["peak memory", bytes(values.peak_memory_bytes), "of all its processes"]);
  if (values.test_accuracy !== undefined) list.push([`${split} accuracy`, percent(values.test_accuracy), ofEpoch]);
  if (values.test_mae !== undefined) list.push([`${split} mean absolute error`, number(values.test_mae), ofEpoch]);
  if (values.test_loss !== undefined) list.push([`${split} loss`, number(values.test_loss), ofEpoch]);
  if (values.validation_accuracy !== undefined)
    list.push(["validation accuracy", percent(values.validation_accuracy), ofEpoch]);
  if (values.validation_mae !== undefined)
    list.push(["validation mean absolute error", number(values.validation_mae), ofEpoch]);
  if (values.test_r2 !== undefined) list.push([`${split} R²`, number(values.test_r2), ofEpoch]);
  if (values.accuracy !== undefined)
    list.push(["training accuracy", percent(values.accuracy), ofEpoch && `mean of ${ofEpoch}`]);
  if (progress?.epochs)
    list.push([
      "epochs",
      `${number(summary?.epochs ?? progress.epoch)} of ${number(job.spec?.training?.epochs ?? progress.epochs)}`,
      "",
    ]);
  if (values.run_seconds !== undefined && values.exit_status === undefined)
    list.push(["training time", metric("run_seconds", values.run_seconds), ""]);
  if (values.samples_per_second !== undefined)
    list.push(["samples/s", number(values.samples_per_second), isOver(job.state) ? "in training steps" : ""]);
  return list.slice(0, 6).map(([name, value, note]) => [name.charAt(0).toUpperCase() + name.slice(1), value, note]);
}

customElements.define("ip-job-overview", Overview);
