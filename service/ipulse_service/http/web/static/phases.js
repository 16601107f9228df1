// The five phases of the latest attempt: their durations, and how much of the current one is done.
import { element } from "./element.js";
import { PHASES, duration, isOver, phaseOf } from "./words.js";

export function phases() {
  const list = element("ol.phases", { "aria-label": "Phases" });
  let job = null;
  let part = null; // the latest progress event of the current phase

  function draw() {
    const now = phaseOf(job);
    list.replaceChildren(...PHASES.map((name) => {
      const seconds = job.phase_seconds[name];
      const state = name === now ? "now" : seconds === undefined ? "next" : "over";
      const share = name === now ? fraction(name) : null;
      return element(`li.${state}`, { "aria-current": name === now ? "step" : null }, element("b", {}, name),
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
      if (!latest) return;
      part = latest;
      draw();
    },
  };
}
