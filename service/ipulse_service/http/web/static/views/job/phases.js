// The phases of the latest attempt: what is done, running, failed, and how long each took.
import { html, nothing } from "../../vendor.js";
import { PHASES, duration, isOver, percent, phaseOf } from "../../lib/format.js";
import { icon } from "../../parts/icon.js";
import "./activity.js";

const CONTENT = {
  prepare: "start of the runner, data",
  compile: "kernels and graphs",
  acquire: "waiting for the device",
  run: "training and testing",
  report: "files and report",
};
const LOOKS = /** @type {const} */ ({
  done: ["check", "done"],
  running: ["dot", "running"],
  failed: ["cross", "failed"],
  cancelled: ["stop", "cancelled"],
  paused: ["pause", "paused"],
  lost: ["cross", "lost"],
  skipped: ["ring", "skipped"],
  next: ["ring", "not yet"],
});

/** The outcome of each phase. @returns {{name: string, outcome: keyof typeof LOOKS, seconds: number | undefined}[]} */
function outcomes(job, store) {
  const now = phaseOf(job.state);
  const isKnown = store && store.entered.attempt === job.attempt;
  const entered = isKnown ? store.entered.phases : null;
  const reached = entered ?? PHASES.filter((name) => job.phase_seconds[name] !== undefined);
  const last = !now && job.state !== "succeeded" && job.attempt ? reached.at(-1) : undefined;
  return PHASES.map((name) => {
    const seconds = job.phase_seconds[name];
    /** @type {keyof typeof LOOKS} */
    let outcome = "next";
    if (name === now) outcome = "running";
    else if (name === last) outcome = endOf(job.state);
    else if (seconds !== undefined && (!entered || entered.includes(name))) outcome = "done";
    else if (isOver(job.state)) outcome = "skipped";
    return { name, outcome, seconds };
  });
}

function endOf(state) {
  if (state === "failed" || state === "paused") return state;
  return state === "retry_wait" || state === "queued" ? "lost" : "cancelled";
}

function fraction(job, store, phase) {
  if (phase === "run" && job.progress) return job.progress.step / job.progress.steps;
  return store?.progress?.phase === phase ? store.progress.fraction : null;
}

/**
 * @param {any} job
 * @param {import("./store.js").JobStore | null} store
 * @param {boolean} isCompact not shown on a phone
 */
export function phaseBar(job, store, isCompact) {
  return html`<ol class="phases ${isCompact ? "compact" : ""}" aria-label="Phases">
    ${outcomes(job, store).map(({ name, outcome, seconds }) => {
      const [symbol, words] = LOOKS[outcome];
      const share = outcome === "running" ? fraction(job, store, name) : null;
      return html`<li class=${outcome} aria-current=${outcome === "running" ? "step" : nothing}>
        <b title=${CONTENT[name]}>${icon(symbol)}${name[0].toUpperCase()}${name.slice(1)}</b>
        <span>${outcome === "done" ? duration(seconds) : share === null ? words : percent(share)}${
          outcome !== "done" && outcome !== "next" && outcome !== "skipped" && seconds !== undefined
            ? ` · ${duration(seconds)}`
            : ""
        }</span>
        ${
          share === null
            ? nothing
            : html`<i class="meter" role="progressbar" aria-label="${name}: done" aria-valuemin="0" aria-valuemax="100"
          aria-valuenow=${Math.round(100 * share)}><span .style=${`width: ${100 * share}%`}></span></i>`
        }
      </li>`;
    })}
  </ol>
  <ip-job-activity class="activity soft small" .job=${job} .store=${store}></ip-job-activity>`;
}
