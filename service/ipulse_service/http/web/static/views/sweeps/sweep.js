// One sweep: its best trial, its course, and how settings and results relate.
import { html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { maySubmit, who } from "../../app/session.js";
import { View } from "../../app/view.js";
import { duration, isShare, label, metric, number, plain } from "../../lib/format.js";
import { ago } from "../../parts/ago.js";
import { askDialog, confirmDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { toast } from "../../parts/toast.js";
import { correlations } from "./correlation.js";
import { progress } from "./list.js";
import { course, heat, relation } from "./pictures.js";
import { finished, nameOf, stateOf, sweepBadge, trialBadge } from "./words.js";

const MOST_TRIALS = 5000;
const ROWS = 100;

class SweepView extends View {
  static poll = 4000;
  static properties = { ...View.properties, order: { state: true } };

  constructor() {
    super();
    this.order = "best";
  }

  heading({ sweep }) {
    return `${sweep.name || sweep.id} · ${sweep.state}`;
  }

  async load(route, signal) {
    const path = `/v1/sweeps/${encodeURIComponent(route.params.id)}`;
    const [sweep] = await Promise.all([api.get(path, { signal }), who()]);
    const trials = [];
    for (let after = 0; after !== null && trials.length < MOST_TRIALS; ) {
      const page = await api.get(`${path}/trials`, { query: { after: after || undefined }, signal });
      trials.push(...page.trials);
      after = page.next_after;
    }
    return { sweep, trials };
  }

  async act(what, query, done) {
    try {
      await api.post(`/v1/sweeps/${this.data.sweep.id}/${what}`, undefined, { query });
      toast(done);
    } catch (error) {
      toast(error.message, { isBad: true });
    }
    this.reload();
  }

  async stop(running, words) {
    if (
      await confirmDialog({
        title: "Stop this sweep?",
        text: html`<p>It begins no more trials and cancels queued jobs. ${words}</p>`,
        confirm: "Stop",
        danger: running === "cancel",
      })
    ) {
      this.act("stop", { running }, "The sweep stops");
    }
  }

  async extend() {
    const { sweep } = this.data;
    const text = await askDialog({
      title: "Extend the sweep",
      label: "Number of trials in all",
      value: String(sweep.trials),
      confirm: "Extend",
    });
    if (!text) return;
    try {
      await api.patch(`/v1/sweeps/${sweep.id}`, { trials: Number(text) });
    } catch (error) {
      toast([error.message, ...error.errors.map((one) => one.detail)].join(" "), { isBad: true });
    }
    this.reload();
  }

  view({ sweep, trials }) {
    const mayChange = sweep.allowed.includes("change");
    const mayGrow = sweep.allowed.includes("grow");
    const isOpen = !sweep.finished_at && mayChange;
    return html`<div class="head"><h1>${sweep.name || "unnamed"}</h1>${sweepBadge(sweep)}<span class="soft small id">${sweep.id.slice(4, 12)}</span>
        <div class="buttons">
          <a class="button" href="/compare?q=group:${sweep.id}">${icon("compare")}Compare jobs</a>
          ${mayChange && sweep.state === "running" ? html`<button type="button" @click=${() => this.act("pause", {}, "The sweep is paused")}>Pause</button>` : nothing}
          ${mayChange && sweep.state === "paused" ? html`<button type="button" class="primary" @click=${() => this.act("resume", {}, "The sweep goes on")}>Resume</button>` : nothing}
          ${
            mayChange
              ? menu(
                  icon("more"),
                  [
                    { words: "Extend", act: () => this.extend(), isHidden: !mayGrow },
                    {
                      words: "Retry failed jobs",
                      act: () => this.act("retry", { failed: true }, "The failed jobs run again"),
                      isHidden:
                        !mayGrow ||
                        !trials.some(
                          (trial) => trial.state === "failed" || trial.jobs.some((job) => job.state === "failed"),
                        ),
                    },
                    {
                      words: "Repeat deleted jobs",
                      act: () => this.act("retry", { deleted: true }, "The deleted jobs run again"),
                      isHidden: !mayGrow || !trials.some((trial) => trial.jobs.some((job) => job.deleted)),
                    },
                    {
                      words: "Stop; running jobs end as planned",
                      act: () => this.stop("keep", "Running jobs end as planned."),
                      isHidden: !isOpen,
                    },
                    {
                      words: "Stop; running jobs finish now",
                      act: () => this.stop("finish", "Running jobs finish now and keep their results."),
                      isHidden: !isOpen,
                    },
                    {
                      words: "Stop; running jobs are cancelled",
                      act: () => this.stop("cancel", "Running jobs are cancelled."),
                      isHidden: !isOpen,
                      isDangerous: true,
                    },
                  ],
                  { name: "More actions", kind: "icon", key: this },
                )
              : nothing
          }</div></div>
      <p class="soft">${plain(sweep.method)} · ${sweep.goal === "maximize" ? "highest" : "lowest"} ${label(sweep.metric)} · ${sweep.parallel} at the same time · ${duration(sweep.device_seconds)} of device time · created ${ago(sweep.created_at)} by ${sweep.owner}${sweep.project === "default" ? nothing : html` · project ${sweep.project}`}${sweep.reason ? html` · ${plain(sweep.reason)}` : nothing}</p>
      ${sweep.message ? html`<p class="note">${sweep.message}</p>` : nothing}
      <div class="sweep-head"><div class="card"><h2>${sweep.state === "ended" ? "Best" : "Best so far"}</h2>${this.best(sweep, trials)}</div>
        <div class="card"><h2>Trials</h2>${progress(sweep)}<p class="soft small">${
          counts(trials)
            .map(([state, count]) => `${count} ${plain(state)}`)
            .join(" · ") || "none has begun"
        }</p></div></div>
      ${finished(trials).length ? html`<div class="curve-grid section">${course(sweep, trials)}${heat(this, sweep, trials)}</div>${relation(this, sweep, trials)}${this.importance(sweep, trials)}` : nothing}
      ${this.table(sweep, trials)}
      <details class="card section"><summary>Definition</summary><pre>${JSON.stringify(sweep.config, null, 2)}</pre></details>`;
  }

  best(sweep, trials) {
    if (!sweep.best) return html`<p class="soft">No trial has ended with a value yet.</p>`;
    const trial = trials.find((one) => one.number === sweep.best.number);
    return html`<dl class="figures"><div><dt>${label(sweep.metric)}${trial?.n > 1 ? `, mean of ${trial.n}` : ""}</dt><dd>${metric(sweep.metric, sweep.best.value)}${typeof trial?.interval === "number" ? html` <span class="soft small" title="95 % interval of the mean, by Student's t">± ${metric(sweep.metric, trial.interval)}</span>` : nothing}</dd></div>
      ${Object.entries(sweep.best.parameters).map(([pointer, value]) => html`<div><dt>${nameOf(pointer)}</dt><dd>${metric(pointer, value)}</dd></div>`)}</dl>
      ${trial?.jobs.length && !trial.jobs[0].deleted ? html`<p class="buttons best-links"><a class="button" href="/jobs/${trial.jobs[0].id}">Open its job</a>${maySubmit() ? html`<a class="button" href="/new?from=${trial.jobs[0].id}">New job from it</a>` : nothing}</p>` : nothing}`;
  }

  importance(sweep, trials) {
    const found = correlations(sweep.parameters, trials);
    if (!found.length) return nothing;
    return html`<section class="card section" aria-label="Rank correlation"><h2>Rank correlation with ${label(sweep.metric)}</h2>
      <ul class="ranks">${found.map(
        ({
          pointer,
          value,
          count,
        }) => html`<li><span>${nameOf(pointer)}</span><span class="meter"><span .style=${`width: ${Math.round(100 * Math.abs(value))}%`}></span></span>
        <span class="number">${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}</span><span class="soft small">${count} trials</span></li>`,
      )}</ul></section>`;
  }

  table(sweep, trials) {
    if (!trials.length) return nothing;
    const sign = sweep.goal === "maximize" ? -1 : 1;
    const isResult = new Set(finished(trials));
    const rank = (trial) => (isResult.has(trial) ? 0 : trial.value === null ? 2 : 1);
    const compare = (a, b) => rank(a) - rank(b) || sign * (a.value - b.value) || a.number - b.number;
    const sorted = this.order === "best" ? [...trials].sort(compare) : [...trials].reverse();
    const several = trials.some((trial) => trial.jobs.length > 1);
    return html`<section class="section" aria-label="Trials"><div class="bar"><h2>All trials</h2><label class="inline">Order <select @change=${(
      event,
    ) => {
      this.order = event.target.value;
    }}>
        <option value="best">best first</option><option value="new">newest first</option></select></label></div>
      <div class="grid-box jobs" tabindex="0" role="region" aria-label="All trials"><table class="grid"><caption>Trials</caption>
        <thead><tr><th scope="col" class="number">Trial</th><th scope="col">State</th>${sweep.parameters.map((pointer) => html`<th scope="col" class="number" title=${pointer}>${nameOf(pointer)}</th>`)}
          <th scope="col" class="number">${label(sweep.metric)}</th>${several ? html`<th scope="col" class="number">Std. dev.</th><th scope="col" class="number">Seeds</th>` : nothing}<th scope="col">Jobs</th></tr></thead>
        <tbody>${sorted.slice(0, ROWS).map(
          (trial) => html`<tr class=${trial.number === sweep.best?.number ? "selected" : ""}>
          <td class="number" data-label="Trial">${trial.number}</td><td class="c-state" data-label="State" title=${trial.message}>${trialBadge(trial)}</td>
          ${sweep.parameters.map((pointer) => html`<td class="number" data-label=${nameOf(pointer)}>${metric(pointer, trial.parameters[pointer])}</td>`)}
          <td class="number ${trial.state === "pruned" ? "soft" : ""}" data-label=${label(sweep.metric)} title=${trial.state === "pruned" ? "of fewer epochs" : nothing}>${trial.value === null ? nothing : metric(sweep.metric, trial.value)}</td>
          ${several ? html`<td class="number" data-label="Std. dev.">${trial.deviation === null ? nothing : isShare(sweep.metric) ? metric(sweep.metric, trial.deviation) : number(trial.deviation)}</td><td class="number" data-label="Seeds">${trial.n} of ${trial.jobs.length}</td>` : nothing}
          <td data-label="Jobs">${trial.jobs.map((job) => (job.deleted ? html`<span class="soft" title="seed ${job.seed}, deleted">${job.id.slice(4, 8)} deleted</span> ` : html`<a href="/jobs/${job.id}" title="seed ${job.seed}, ${job.state}">${job.id.slice(4, 8)}</a> `))}</td></tr>`,
        )}</tbody></table></div>
      ${trials.length > ROWS ? html`<p class="soft small">The first ${ROWS} of ${trials.length.toLocaleString("en")} trials. <a href="/jobs?q=group:${sweep.id}">All jobs</a></p>` : nothing}</section>`;
  }
}
customElements.define("ip-sweep", SweepView);

/** How many trials are in each state. @returns {[string, number][]} */
function counts(trials) {
  const found = new Map();
  for (const trial of trials) found.set(stateOf(trial), (found.get(stateOf(trial)) ?? 0) + 1);
  return [...found];
}
