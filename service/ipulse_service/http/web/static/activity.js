// Shows the present step of a phase, its duration and the expected time.
import { element } from "./element.js";
import { number } from "./figures.js";
import { duration, isOver, phaseOf, plain } from "./words.js";

const whole = (seconds) => (seconds < 60 ? `${Math.floor(seconds)} s` : duration(seconds));

export function activity(signal) {
  const words = element("span", { role: "status" });
  const clock = element("span", { "aria-hidden": "true" }); // not read aloud each second
  let job = null;
  let part = null; // the latest progress event
  let since = null; // when the state or the activity began, in ms
  let reported = null; // when its last event came

  function draw() {
    const now = job && phaseOf(job);
    const isShown = now && part?.phase === now;
    const counts = isShown && part.steps_total && part.steps_done < part.steps_total
      ? ` (${number(part.steps_done)} of ${number(part.steps_total)} done)` : "";
    const message = isShown ? part.message + counts : "";
    if (words.textContent !== message) words.textContent = message; // else it would be read aloud again
    clock.textContent = job && !isOver(job) && since ? times(isShown ? part : null) : "";
  }

  function times(shown) {
    const elapsed = (from) => Math.max(0, (Date.now() - from) / 1000);
    const left = shown?.remaining_seconds ? shown.remaining_seconds - elapsed(reported) : 0;
    const expected = left >= 1 ? ` · about ${whole(left)} left` : "";
    return `${shown ? " · " : `${plain(job.state)} for `}${whole(elapsed(since))}${expected}`;
  }

  const ticking = setInterval(draw, 1000);
  signal.addEventListener("abort", () => clearInterval(ticking));
  return {
    element: element("p.soft.activity", {}, words, clock),
    set(latest) {
      job = latest;
      draw();
    },
    add(events) {
      for (const event of events) {
        if (event.kind === "progress") {
          reported = Date.parse(event.time);
          if (!part || part.message !== event.message || part.phase !== event.phase) since = reported;
          part = event;
        } else if (event.kind === "state") {
          since = Date.parse(event.time);
          part = null;
        } else if (event.kind === "metric") {
          part = null;
          since = null; // its figures say more
        }
      }
      draw();
    },
  };
}
