// What a sweep would take: its jobs, their time and its error, and what it means for quotas.
import { html, nothing } from "../../vendor.js";
import { duration, number } from "../../lib/format.js";
import { said } from "../../parts/said.js";
import { cacheLine, line, startLine } from "./plan.js";

const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
const QUOTAS = {
  devices: ["devices at once", (plan) => plan.parallel],
  device_seconds: ["device seconds this month", (plan) => Math.round(plan.expected_devices?.seconds ?? 0)],
};

/** @param {{plan?: any, error?: any} | null} found the answer of `POST /v1/sweeps:plan`, null before */
export function sweepPlan(found) {
  if (!found) return html`<p class="soft small" role="status">The plan is shown once all fields are filled in.</p>`;
  const lines = found.error ? problems(found.error) : facts(found.plan);
  return html`<div role="status"><ul class="plan">${lines}</ul></div>`;
}

function problems(error) {
  const all = error.errors?.length ? error.errors : [{ detail: error.message }];
  return all.map(({ pointer, detail }) =>
    line("cross", html`${pointer ? html`<code>${pointer}</code>: ` : nothing}${said(detail)}`, "wrong"),
  );
}

function facts(plan) {
  return [
    line(
      "check",
      `${count(plan.trials, "trial")}, ${count(plan.jobs, "job")}, ${number(plan.parallel)} at the same time on present agents.`,
    ),
    line("ring", plan.expected_job ? durationText(plan) : "No estimate of its duration yet."),
    startLine(plan.waiting_on),
    cacheLine(plan.executable_cached),
    ...plan.quotas.filter(({ name }) => name in QUOTAS).map((quota) => effect(quota, plan)),
  ];
}

function durationText({ expected_job: job, expected_devices: all, expected_seconds: seconds }) {
  const of = job.basis === "like_jobs" ? "did the same work" : "had other sizes";
  const error = `${duration(all.least_seconds)} to ${duration(all.most_seconds)}`;
  return `About ${duration(seconds)} from its first start to its last end; ${duration(all.seconds)} of device time (${error}), by ${count(job.jobs, "job")} that ${of}.`;
}

/** What is used of a quota, and what the sweep adds. @param {any} quota @param {any} plan */
function effect({ project, user, name, limit, used }, plan) {
  const [what, adds] = QUOTAS[name];
  const more = adds(plan);
  const isOver = used + more > limit;
  const whose = user ? `${user}${project ? ` in ${project}` : ""}` : project;
  const then = more ? `, and the sweep takes ${name === "devices" ? "up to" : "about"} ${number(more)}` : "";
  return line(
    isOver ? "warn" : "check",
    `Quota of ${whose}: ${number(used)} of ${number(limit)} ${what} used${then}${isOver ? ": some of its jobs will wait" : ""}.`,
    isOver ? "warn" : "",
  );
}
