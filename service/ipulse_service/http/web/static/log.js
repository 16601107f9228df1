// What the job's programs wrote. Follows the newest line while that is in sight.
import { element } from "./element.js";

const KEPT = 2000; // lines; the whole log is an artifact, and `ipulse logs` has it

export function log() {
  const lines = element("div.log", { role: "log", tabindex: "0", "aria-label": "Log" });
  const left = element("p.soft");
  let dropped = 0;
  return {
    element: element("section", {}, element("h2", {}, "Log"), left, lines),
    add(events) {
      const said = events.filter((event) => event.kind === "log" || event.kind === "phase" || event.kind === "checkpoint");
      if (!said.length) return;
      const follows = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - 8;
      lines.append(...said.map(line));
      for (; lines.childElementCount > KEPT; dropped += 1) lines.firstElementChild.remove();
      if (dropped) left.textContent = `${dropped.toLocaleString()} earlier lines are left out here; ipulse logs has them.`;
      if (follows) lines.scrollTop = lines.scrollHeight;
    },
  };
}

function line(event) {
  const time = element("time", { datetime: event.time }, new Date(event.time).toLocaleTimeString());
  if (event.kind === "phase") return element("div.step", {}, time, `attempt ${event.attempt}: ${event.phase}`);
  if (event.kind === "checkpoint") return element("div.step", {}, time, `checkpoint after step ${event.step}`);
  return element(`div.${event.level}`, {}, time, event.message);
}
