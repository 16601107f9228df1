// The head of a job: name, state, the one main action, and the others.
import { html, nothing } from "../../vendor.js";
import { navigate } from "../../app/router.js";
import { maySubmit } from "../../app/session.js";
import { api } from "../../lib/api.js";
import { duration, elapsed, isOver, phaseOf } from "../../lib/format.js";
import { ago } from "../../parts/ago.js";
import { chip } from "../../parts/chip.js";
import { copyButton } from "../../parts/copy.js";
import { deleteLater } from "../../parts/deletions.js";
import { askDialog, confirmDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { toast } from "../../parts/toast.js";
import { VERBS, isOffered } from "../jobs/verbs.js";

const KEY = {};

/** Runs an action and says what went wrong. */
async function attempted(act) {
  try {
    await act();
  } catch (error) {
    toast(error.message, { isBad: true });
  }
}

function ask(job, verb, renew) {
  return () =>
    attempted(async () => {
      await api.post(`/v1/jobs/${job.id}/${verb}`);
      await renew();
    });
}

function rename(job, renew) {
  return () =>
    attempted(async () => {
      const name = await askDialog({
        title: "Tags",
        label: "Tags, separated by spaces",
        value: job.tags.join(" "),
        confirm: "Save",
        hint: "Letters, digits, _ . -",
      });
      if (name === undefined) return;
      const wanted = new Set(name.split(/[\s,]+/).filter(Boolean));
      await api.patch(`/v1/jobs/${job.id}`, {
        add_tags: [...wanted].filter((tag) => !job.tags.includes(tag)),
        remove_tags: job.tags.filter((tag) => !wanted.has(tag)),
      });
      await renew();
    });
}

function remove(job) {
  return async () => {
    const text = html`<p>Its events, log and files are deleted, too.</p>`;
    if (!(await confirmDialog({ title: `Delete ${job.name || job.id}?`, text, confirm: "Delete", danger: true })))
      return;
    navigate("/jobs");
    deleteLater(`${job.name || job.id} is deleted`, {
      covers: ({ id }) => id === job.id,
      act: (options) => api.delete(`/v1/jobs/${job.id}`, options),
    });
  };
}

function cancel(job, renew) {
  return async () => {
    const text = html`<p>Its metrics, log and last checkpoint stay; weights and report are not written. “Stop and keep” writes them.</p>`;
    if (await confirmDialog({ title: `Cancel ${job.name || job.id}?`, text, confirm: "Cancel the job", danger: true }))
      await ask(job, "cancel", renew)();
  };
}

/** Trains on from the last checkpoint, as a new job. */
function goOn(job) {
  return () =>
    attempted(async () => {
      const answer = await askDialog({
        title: `Continue ${job.name || job.id}`,
        label: "Epochs in addition",
        value: "10",
        confirm: "Continue",
        hint: "A new job trains on from the last checkpoint.",
      });
      if (answer === undefined) return;
      const next = await api.post(`/v1/jobs/${job.id}/continue`, { epochs: Number(answer) });
      toast(`${next.name || next.id} is submitted`);
      navigate(`/jobs/${next.id}`);
    });
}

/** The buttons of the verbs that the job's state allows; that of a paused job is its main action. */
function verbs(job, hasCheckpoint, renew) {
  const kind = job.state === "paused" ? "primary" : "";
  return VERBS.filter((one) => isOffered(one, job)).map(
    ({ verb, words, title }) =>
      html`<button type="button" class=${kind} title=${title?.(hasCheckpoint) ?? nothing} @click=${ask(job, verb, renew)}>${words}</button>`,
  );
}

/** The one action that a person most likely wants now. */
function primary(job, renew) {
  if (job.state === "succeeded") return html`<a class="button primary" href="/jobs/${job.id}/report">Report</a>`;
  if (job.state === "running" && !job.finish_by && job.allowed.includes("change")) {
    return html`<button type="button" class="primary" title="Ends the training now and writes weights and report" @click=${ask(job, "finish", renew)}>Stop and keep</button>`;
  }
  if (isOver(job.state) && maySubmit()) return html`<a class="button primary" href="/new?from=${job.id}">Clone</a>`;
  return nothing;
}

/** @param {any} job @param {boolean} hasCheckpoint @param {() => Promise<void>} renew */
export function head(job, hasCheckpoint, renew) {
  const may = (action) => job.allowed.includes(action);
  const over = isOver(job.state);
  const took = elapsed(job);
  const left = job.progress?.eta_seconds >= 0.05 && phaseOf(job.state) === "run" ? job.progress.eta_seconds : null;
  return html`
    <p class="crumbs soft small"><a href="/jobs">Jobs</a> ${icon("right")} <code>${job.id}</code>${copyButton(job.id, "Copy the id")}</p>
    <header class="head job-head">
      <h1>${job.name || job.id}</h1>
      <span role="status">${chip(job.state, job.reason)}</span>
      <div class="buttons">
        ${primary(job, renew)}
        ${verbs(job, hasCheckpoint, renew)}
        ${maySubmit() && (job.state === "succeeded" || !over) ? html`<a class="button" href="/new?from=${job.id}">Clone</a>` : nothing}
        ${over && hasCheckpoint && may("continue") ? html`<button type="button" @click=${goOn(job)}>Continue</button>` : nothing}
        <a class="button" href="/compare?jobs=${job.id}">Compare</a>
        ${menu(
          icon("more"),
          [
            over || !may("change") ? null : { words: "Cancel", act: cancel(job, renew), isDangerous: true },
            may("change") ? { words: "Edit tags", act: rename(job, renew) } : null,
            { words: "Download the log", href: `/v1/jobs/${job.id}/log` },
            over && may("change") ? { words: "Delete", act: remove(job), isDangerous: true } : null,
          ],
          { name: "More actions", kind: "icon", key: KEY },
        )}
      </div>
    </header>
    <p class="soft facts">
      <span>${job.device}</span>${job.pool === "default" ? nothing : html` <span>pool ${job.pool}</span>`} <span>submitted ${ago(job.created_at)} by ${job.owner}</span>${job.project === "default" ? nothing : html` <span>project ${job.project}</span>`}
      ${took === null ? nothing : html`<span title="without the time in the queue">${over ? "took" : "for"} ${duration(took)}</span>`}
      ${left ? html`<span>about ${duration(left)} left</span>` : nothing}
      ${job.progress && !over ? html`<span>epoch ${job.progress.epoch} of ${job.progress.epochs}</span>` : nothing}
      ${job.imported ? html`<span title="It ran on another service; its archive was imported here.">imported ${ago(job.imported.at)}</span>` : nothing}
      ${job.group ? html`<span>group ${job.group}</span>` : nothing}
      ${job.tags.map((tag) => html`<span class="tag">${tag}</span>`)}
    </p>`;
}
