// Why queued jobs wait, in sentences.
import { html, nothing } from "../../vendor.js";
import { ago } from "../../parts/ago.js";

const REASONS = {
  wake_up: "An agent is free and has been woken; it starts in a moment.",
  device_busy: "All agents that can run it are busy.",
  behind: "An agent is free, but other jobs come first.",
  no_agent: "No agent is present.",
  no_match: "No agent that is present can run it.",
  quarantine: "The device that it needs has failed.",
  agent_draining: "The agents that could run it take no more jobs.",
};

/** @param {any} waiting `waiting_on` of a job */
function whyItWaits(waiting) {
  const { reason, detail, position, of, holder, holder_device: device, estimated_start: start } = waiting;
  const words = REASONS[reason] ?? reason;
  return html`${detail ? `${words.replace(/\.$/, "")}: ${detail.replace(/\.$/, "")}.` : words}
    ${holder ? html` <a href="/jobs/${holder}">${holder.slice(4, 12)}</a> holds ${device ?? "it"}.` : nothing}
    ${position ? html` Number ${position} of ${of}.` : nothing}${start ? html` Expected to start ${ago(start)}.` : nothing}`;
}

/** The oldest queued jobs and what each waits for. */
export function waitingJobs(jobs, total) {
  if (!jobs.length) return nothing;
  return html`<section class="card why" aria-label="Why jobs wait"><h2>Why jobs wait</h2>
    <ul>${jobs.map((job) => html`<li><a class="name" href="/jobs/${job.id}">${job.name || job.id}</a> <span class="soft small">${job.device}, queued ${ago(job.created_at)}</span><br>
      <span>${whyItWaits(job.waiting_on)}</span></li>`)}</ul>
    ${total > jobs.length ? html`<p class="soft small"><a href="/jobs?q=state:queued,retry_wait">and ${(total - jobs.length).toLocaleString("en")} more queued jobs</a></p>` : nothing}</section>`;
}
