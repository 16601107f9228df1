// The queued jobs of the list of devices, and what each waits for.
import { html, nothing } from "../../vendor.js";
import { WHY } from "../../lib/waiting.js";
import { ago } from "../../parts/ago.js";
import { awaited, waitsForJob } from "../../parts/awaited.js";
import { said } from "../../parts/said.js";

/** @param {any} waiting `waiting_on` of a job */
function whyItWaits(waiting) {
  const { reason, detail, position, of, holder, holder_device: device, estimated_start: start } = waiting;
  const words = WHY[reason] ?? reason;
  return html`${said(detail ? `${words.replace(/\.$/, "")}: ${detail.replace(/\.$/, "")}.` : words)}
    ${waitsForJob(waiting) ? html` It waits for ${awaited(waiting)}.` : holder ? html` <a href="/jobs/${holder}">${holder.slice(4, 12)}</a> holds ${device ?? "it"}.` : nothing}
    ${position ? html` Number ${position} of ${of}.` : nothing}${start ? html` Expected to start ${ago(start)}.` : nothing}`;
}

/** The oldest queued jobs and what each waits for. */
export function waitingJobs(jobs, total) {
  if (!jobs.length) return nothing;
  return html`<section class="card why" aria-label="Why jobs wait"><h2>Why jobs wait</h2>
    <ul>${jobs.map(
      (
        job,
      ) => html`<li><a class="name" href="/jobs/${job.id}">${job.name || job.id}</a> <span class="soft small">${job.device}, queued ${ago(job.created_at)}</span><br>
      <span>${whyItWaits(job.waiting_on)}</span></li>`,
    )}</ul>
    ${total > jobs.length ? html`<p class="soft small"><a href="/jobs?q=state:queued,retry_wait">and ${(total - jobs.length).toLocaleString("en")} more queued jobs</a></p>` : nothing}</section>`;
}
