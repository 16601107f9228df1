// The five phases of the latest attempt: their durations, and how much of the current one is done.
import { element } from "./element.js";
import { PHASES, duration, isOver, phaseOf } from "./words.js";

export function phases() {
  const list = element("ol.phases", { "aria-label": "Phases" });
  let job = null;
  let part = null; // the latest progress event of the current phase
  let entered = { attempt: 0, phases: [] }; // by the latest attempt, in order

  function draw() {
    const now = phaseOf(job);
    const isKnown = entered.attempt === job.attempt;
    // The phase in which the latest attempt ended, unless it was completed.
    const stopped = !now && job.state !== "succeeded" && isKnown ? entered.phases.at(-1) : undefined;
    const end = job.state === "failed" || job.state === "retry_wait" ? "failed" : "stopped";
    const ofLatest = (name) => !entered.attempt || (isKnown && entered.phases.includes(name));
    list.replaceChildren(...PHASES.map((name) => {
      const seconds = job.phase_seconds[name];
      const state = name === now ? "now" : name === stopped ? end : seconds !== undefined && ofLatest(name) ? "over" : "next";
      const share = name === now ? fraction(name) : null;
      return element(`li.${state}`, { "aria-current": name === now ? "step" : null }, element("b", {}, name),
        name === stopped ? element("span", {}, end) : "",
        element("span", {}, seconds === undefined ? "" : duration(seconds)),
        share === null ? "" : element("progress", { value: share, max: 1, "aria-label": `${name}: done` }));
    }));
  }

  function fraction(phase) {
    if (phase === "run") return job.progress ? job.progress.step / job.progress.steps : 0;
    return part?.phase === phase ? part.fraction : null;
  }

  return {
    element: list,
    set(latest) {
      job = latest;
      if (isOver(job)) part = null;
      draw();
    },
    add(events) {
      const latest = events.filter((event) => event.kind === "progress").at(-1);
      const begun = events.filter((event) => event.kind === "phase");
      if (latest) part = latest;
      for (const { attempt, phase } of begun) {
        if (attempt !== entered.attempt) entered = { attempt, phases: [] };
        entered.phases.push(phase);
      }
      if (latest || begun.length) draw();
    },
  };
}
