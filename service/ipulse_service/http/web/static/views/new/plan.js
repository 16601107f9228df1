// The result of the check of a spec: problems with their lines, or what a submission would lead to.
import { html, nothing } from "../../vendor.js";
import { bandText, count, duration, number } from "../../lib/format.js";
import { ago } from "../../parts/ago.js";
import { icon } from "../../parts/icon.js";
import { said } from "../../parts/said.js";

export const line = (mark, text, kind = "") => html`<li class=${kind}>${icon(mark)}<span>${text}</span></li>`;

/** @param {import("./check.js").Found | null} found @param {boolean} isChecking */
export function plan(found, isChecking) {
  const title = !found
    ? "Checking …"
    : found.problems.length
      ? `${found.problems.length} ${found.problems.length === 1 ? "problem" : "problems"}`
      : found.error
        ? "Not checked"
        : "Ready to submit";
  return html`<h2 class="plan-title ${found?.value ? "ok" : ""}"><span role="status">${title}</span>${isChecking && found ? html` <span class="soft small">checking …</span>` : nothing}</h2>
    ${
      found
        ? html`<ul class="plan">${found.error ? line("cross", found.error.message, "wrong") : nothing}
      ${found.problems.map((one) => html`<li class="wrong">${icon("cross")}<span><a href="#line-${one.line}" @click=${(event) => jump(event, one)}>line ${one.line}</a>: ${one.message}</span></li>`)}
      ${found.plan ? facts(found.plan) : nothing}</ul>`
        : nothing
    }`;
}

function jump(event, problem) {
  event.preventDefault();
  event.target.closest("form").querySelector("ip-editor").show(problem.from);
}

function memory({ verdict, fullest_tile_bytes: bytes, tile_bytes: of, tiles_used: used, tiles }) {
  const kib = (value) => number(Math.round(value / 1024));
  const text = `Fullest tile: about ${kib(bytes)} of ${kib(of)} KiB, ${number(used)} of ${number(tiles)} tiles used (estimate).`;
  return verdict === "fits" ? line("check", text) : line("warn", `${text} It may not fit.`, "warn");
}

function cyclesLines({ cycles, band, activity, layers }) {
  const spikes = activity.layers.map((each) => `${each.name} ${number(each.spikes)}`).join(", ");
  const basis =
    activity.basis === "last_run"
      ? html`as in <a href="/jobs/${activity.job}">the last training</a> of this network`
      : "assumed";
  return [
    line(
      "ring",
      html`A training step: about ${count(cycles)} emulated cycles, ${bandText(band)}, if in a step of a sample ${number(activity.input_spikes)} spikes come in (assumed) and layers send ${spikes} (${basis}).`,
    ),
    html`<li><details><summary>Cycles by layer</summary><table class="plain"><thead><tr><th scope="col">Layer</th><th scope="col" class="number">Forward</th><th scope="col" class="number">Backward</th></tr></thead>
      <tbody>${layers.map((each) => html`<tr><th scope="row">${each.name ?? "around the layers"}</th><td class="number">${count(each.forward)}</td><td class="number">${count(each.backward)}</td></tr>`)}</tbody></table></details></li>`,
  ];
}

/** @param {{fit: string | null, cycles: string | null}} reasons */
function notPredicted({ fit, cycles }) {
  if (fit && fit === cycles) return line("ring", `Memory and cycles are not predicted: ${fit}.`);
  return [
    fit ? line("ring", `Its memory is not predicted: ${fit}.`) : nothing,
    cycles ? line("ring", `Cycles of a training step are not predicted: ${cycles}.`) : nothing,
  ];
}

function simulators(targets) {
  const none = "No simulator can run this network from a NIR file.";
  return targets.length
    ? line("check", html`Files for simulators (<code>export.nir</code>): ${targets.join(", ")}.`)
    : line("ring", none);
}

function facts(plan) {
  const { agents_with_device: all, agents_with_data: holding } = plan;
  const able = plan.able_agents;
  return [
    line("check", "The spec is valid."),
    all === 0
      ? line("warn", "No agent with this device is present; the job waits for one.", "warn")
      : line(
          able ? "check" : "warn",
          `${number(able)} of ${number(plan.agents)} ${plan.agents === 1 ? "agent" : "agents"} can run it.`,
          able ? "" : "warn",
        ),
    plan.data_set
      ? line(
          holding ? "check" : "warn",
          html`Data <code>${plan.data_set}</code> on ${number(holding)} of ${number(all)} agents.`,
          holding ? "" : "warn",
        )
      : line(
          "check",
          plan.spec?.data?.dataset
            ? html`The service has the data set <code>${plan.spec.data.dataset}</code>.`
            : "The worker generates its data.",
        ),
    plan.fit ? memory(plan.fit) : nothing,
    plan.cycles ? cyclesLines(plan.cycles) : nothing,
    notPredicted(plan.not_predicted),
    plan.spec?.network ? simulators(plan.nir_targets) : nothing,
    startLine(plan.waiting_on),
    cacheLine(plan.executable_cached),
    line("ring", plan.expected ? expectedText(plan.expected) : usualText(plan.usual_seconds)),
  ];
}

/** When a planned job would start, and why not now. @param {any} wait */
export function startLine(wait) {
  if (wait.reason === "wake_up") return line("check", "An agent is free: it starts now.");
  const { position, of, estimated_start: start, detail } = wait;
  return line(
    "ring",
    html`${position ? `Position ${number(position)} of ${number(of)} in the queue` : "It waits"}${start ? html`, expected start ${ago(start)}` : ""}. ${detail ? html`${said(detail)}.` : nothing}`,
  );
}

/** Whether the program is compiled. @param {boolean | null} isCached null: there is none */
export function cacheLine(isCached) {
  if (isCached === null) return nothing;
  return isCached
    ? line("check", "A machine that can run it has compiled its program before.")
    : line("ring", "Its program is compiled first.");
}

function usualText(seconds) {
  if (seconds === null) return "No estimate of its duration yet.";
  return `Jobs on this kind of device usually take ${duration(seconds)}.`;
}

/** @param {any} expected the expected time of a job with an agent, its error, and its basis */
function expectedText({ seconds, least_seconds: least, most_seconds: most, basis, jobs }) {
  const of = basis === "like_jobs" ? "did the same work" : "had other sizes";
  return `About ${duration(seconds)} with an agent (${duration(least)} to ${duration(most)}), by ${number(jobs)} ${jobs === 1 ? "job" : "jobs"} that ${of}.`;
}
