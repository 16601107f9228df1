// The log of a job. It scrolls with new lines while the last line is visible.
import { element } from "./element.js";

const KEPT = 2000; // lines; `ipulse logs` shows the whole log

export function log() {
  const lines = element("div.log", { role: "log", tabindex: "0", "aria-label": "Log" });
  const note = element("p.soft");
  let dropped = 0;
  return {
    element: element("section", {}, element("h2", {}, "Log"), note, lines),
    add(events) {
      const shown = events.filter((event) => event.kind === "log" || event.kind === "phase" || event.kind === "checkpoint");
      if (!shown.length) return;
      const follows = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - 8;
      lines.append(...shown.map(line));
      for (; lines.childElementCount > KEPT; dropped += 1) lines.firstElementChild.remove();
      if (dropped) note.textContent = `${dropped.toLocaleString()} earlier lines are not shown; use ipulse logs to see them.`;
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
