// The five phases of the latest attempt: their durations and the progress of the current one.
import { element } from "./element.js";
import { PHASES, duration, isOver, phaseOf } from "./words.js";

export function phases() {
  const list = element("ol.phases", { "aria-label": "Phases" });
  const words = element("p.soft", { role: "status" });
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
    const message = now && part?.phase === now ? part.message : "";
    if (words.textContent !== message) words.textContent = message;
  }

  function fraction(phase) {
    if (phase === "run") return job.progress ? job.progress.step / job.progress.steps : 0;
    return part?.phase === phase ? part.fraction : null;
  }

  return {
    element: element("section", {}, list, words),
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
