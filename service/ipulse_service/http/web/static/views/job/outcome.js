// The outcome of a job that failed, was stopped or lost an attempt: reason, hint, and the last lines of its log.
import { maySubmit } from "../../app/session.js";
import { api } from "../../lib/api.js";
import { isOver, number, phaseOf, plain } from "../../lib/format.js";
import { WHY } from "../../lib/waiting.js";
import { ago } from "../../parts/ago.js";
import { awaited, waitsForJob } from "../../parts/awaited.js";
import { said } from "../../parts/said.js";
import { html, nothing, ref } from "../../vendor.js";

const LAST_LINES = 20;
const LOST =
  "Its attempts were lost with their workers; the tab Attempts has all of them. Retry resumes from the last checkpoint.";
const RESET = "A reset of the IPU system clears this error: retry the job after it.";
/** What to do about each reason. @type {Record<string, string>} */
const HINTS = {
  deadline_exceeded: "Retry it, and the limit counts anew, or clone it with a longer one.",
  dependency_failed: "Retry the job that it waited for: this one then waits again.",
  out_of_memory: "Use a smaller training.batch_size, fewer data.steps or smaller layers, or a worker with more memory.",
  build_failed: "The log has the compiler's whole output.",
  sandbox_unavailable: "Install bubblewrap on the workers, then retry it.",
  library_unavailable: "Install the Python package that the message names into the runner's environment.",
  package_unavailable: "Install the package of neurons on the workers, and list it in IPULSE_NEURON_PACKAGES there.",
  diverged: "Lower training.optimizer.learning_rate, or set training.gradient_clipping.",
  data_unavailable: "Put the data set into the data directory of a worker, or upload it.",
  data_invalid: "Check the file; the message names the place.",
  kernel_unavailable: "Install g++ on the worker; `ipulse doctor` says what it lacks.",
  device_unavailable: "Wait until a device is free, or add a worker that has one.",
  device_out_of_memory:
    "Use fewer neurons, a smaller training.batch_size or capacity, device.memory: recompute, or more IPUs.",
  graph_refused: "The log has Poplar's whole message.",
  application_error: "The log shows the error of the tile.",
  ipu_reset: RESET,
  partition_reset: RESET,
  full_reset: RESET,
  unrecoverable: "No known reset clears this error of the IPU system: have its hardware checked.",
  gate_failed: "All results are stored: compare the profile with that of a job that met the gates.",
  program_failed: "The log has what the program wrote.",
  limit_exceeded: "Raise limits.seconds of the spec.",
  artifact_store: "Check the disk or the bucket of the service.",
  runner_error: "See the message. If it names no remedy, it is an error of IPUlse: report it with the log.",
  runner_lost: LOST,
  worker_lost: LOST,
  worker_stopped: LOST,
  preempted: "Another job came first and needed the device. This one continues from its last checkpoint.",
  worker_disk_full: "Free some room on the disk of the worker, then retry it.",
  worker_disk_failed: "Repair the disk of the worker, then retry it.",
  worker_limit: "Raise the worker's limits of open files and processes, then retry it.",
};
const STOPPED = new Set(["failed", "cancelled", "paused"]);

/** Scrolls to the last line. @param {Element | undefined} box */
const toEnd = (box) => {
  if (box)
    setTimeout(() => {
      box.scrollTop = box.scrollHeight;
    });
};

/** The attempt that was lost last, undefined after a pause and for a job that has ended. @param {any} job */
function lostAttempt(job) {
  const ended = isOver(job.state) ? undefined : job.attempts.filter((one) => one.finished_at).at(-1);
  const isWanted = ended?.reason === "preempted" || ended?.reason?.endsWith("_by_user");
  return ended?.reason && !isWanted ? ended : undefined;
}

/** The last lines of the log of a job that an attempt has left. @param {any} job @param {AbortSignal} signal */
export async function lastLines(job, signal) {
  if (!job.attempt || !(STOPPED.has(job.state) || lostAttempt(job))) return [];
  const query = { kind: "log", last: true, limit: LAST_LINES };
  return (await api.get(`/v1/jobs/${job.id}/events`, { query, signal })).events;
}

/** @param {any} job @param {import("./store.js").JobStore | null} store @param {any[]} lines */
export function outcome(job, store, lines) {
  const message = job.message && job.state !== "succeeded" ? job.message : "";
  if (job.state === "paused") return paused(job, store, lines);
  const lost = lostAttempt(job);
  if (lost) return html`${lostCard(job, lost, lines)}${job.waiting_on ? waiting(job.waiting_on) : nothing}`;
  if (job.waiting_on) return waiting(job.waiting_on);
  if (job.state === "failed") {
    return card(
      "failed",
      `Failed${job.reason ? `: ${plain(job.reason)}` : ""}`,
      html`<p>${said(message)}</p>${hint(HINTS[job.reason])}
      ${tail(lines)}<p class="buttons"><a class="button" href="/jobs/${job.id}/log">Whole log</a>${maySubmit() ? html`<a class="button" href="/new?from=${job.id}">Clone and change</a>` : nothing}</p>`,
    );
  }
  if (job.state === "cancelled") {
    const next =
      HINTS[job.reason] ??
      (store?.checkpoint
        ? `Continue trains on from the checkpoint of ${place(store.checkpoint)}.`
        : "It left no checkpoint; a clone starts from the beginning.");
    return card(
      "",
      job.reason === "cancelled_by_user"
        ? "Cancelled by a user"
        : `Cancelled${job.reason ? `: ${plain(job.reason)}` : ""}`,
      html`
      ${message && !/^cancelled/i.test(message) ? html`<p>${said(message)}</p>` : nothing}${hint(next)}${tail(lines)}
      ${lines.length ? html`<p class="buttons"><a class="button" href="/jobs/${job.id}/log">Whole log</a></p>` : nothing}`,
    );
  }
  return message && !phaseOf(job.state) ? html`<p class="note">${said(message)}</p>` : nothing;
}

const card = (kind, title, content) =>
  html`<section class="card outcome ${kind}" role=${kind === "failed" ? "alert" : nothing}><h2>${title}</h2>${content}</section>`;
const hint = (text) => (text ? html`<p class="hint">${said(text)}</p>` : nothing);
const place = ({ step, epoch }) => `step ${number(step)}, epoch ${number(epoch)}`;

/** @param {any[]} lines */
function tail(lines) {
  return lines.length
    ? html`<h3>The last lines of its log</h3>
    <pre class="tail" tabindex="0" aria-label="The last lines of its log" ${ref(toEnd)}>${lines.map((line) => html`<span class=${line.level}>${line.message}</span>\n`)}</pre>`
    : nothing;
}

function paused(job, store, lines) {
  return card(
    "",
    html`Paused ${ago(job.updated_at)}`,
    html`<p class="hint">${store?.checkpoint ? `It resumes from the checkpoint of ${place(store.checkpoint)}.` : "It starts from the beginning when it is resumed."}
    Its place and its device are free for others until then.</p>${tail(lines)}`,
  );
}

function lostCard(job, lost, lines) {
  const next =
    job.attempt > lost.number
      ? `Attempt ${job.attempt} continues from the last checkpoint.`
      : "The next attempt continues from the last checkpoint.";
  return card(
    "lost",
    `Attempt ${lost.number} was lost: ${plain(lost.reason)}`,
    html`<p>${said(lost.message)} ${lost.agent && !lost.message?.includes(lost.agent) ? html`It ran on <a href="/devices">${lost.agent}</a>.` : nothing}</p>
    <p class="hint">${next} <a href="/jobs/${job.id}/attempts">All attempts</a></p>${job.attempt > lost.number ? nothing : tail(lines)}`,
  );
}

function waiting(wait) {
  const position = wait.position ? `Number ${wait.position} of ${wait.of} in the queue.` : "";
  return card(
    "",
    "Waiting",
    html`
    <p>${position} ${WHY[wait.reason] ?? plain(wait.reason)}</p>
    ${wait.detail ? html`<p class="soft">${said(wait.detail)}</p>` : nothing}
    <p class="soft">${wait.estimated_start ? html`Expected start: ${ago(wait.estimated_start)}. ` : nothing}
      ${waitsForJob(wait) ? html`It waits for ${awaited(wait)}.` : wait.holder ? html`The agent is held by <a href="/jobs/${wait.holder}">${wait.holder}</a>${wait.holder_device ? ` (${wait.holder_device})` : ""}.` : nothing}</p>`,
  );
}
