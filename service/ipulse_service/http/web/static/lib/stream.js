// A job's event stream: each event once and in order, across disconnections.
import { Unreachable, raw } from "./api.js";
import { parseShown } from "./shown.js";

const LONGEST_PAUSE = 10_000; // ms between two tries
const LONGEST_SILENCE = 45_000; // ms; the service sends pings more often, so a silent stream is dead

// A browser has six connections to a service, for all of its tabs: only the tab that is seen has streams. They end
// when it
// is hidden or left, and continue after the last event when it is seen again.
let shown = new AbortController();
const hide = () => shown.abort(new Unreachable());
const show = () => {
  if (shown.signal.aborted) shown = new AbortController();
};
addEventListener("pagehide", hide);
addEventListener("pageshow", () => document.hidden || show());
document.addEventListener("visibilitychange", () => (document.hidden ? hide() : show()));
if (document.hidden) hide();

/** Resolves when the tab is seen. @param {AbortSignal} signal */
function seen(signal) {
  return new Promise((resolve, reject) => {
    const look = () => !document.hidden && !shown.signal.aborted && done(resolve);
    const stop = () => done(() => reject(signal.reason));
    const done = (settle) => {
      document.removeEventListener("visibilitychange", look);
      removeEventListener("pageshow", look);
      signal.removeEventListener("abort", stop);
      settle();
    };
    document.addEventListener("visibilitychange", look);
    addEventListener("pageshow", look);
    signal.addEventListener("abort", stop);
    look();
  });
}

/**
 * Yields arrays of events until the job ends; calls `onBreak(error)` when the connection is lost, `onBreak(null)`
 * after.
 * @param {string} jobId @param {AbortSignal} signal @param {(error: Error | null) => void} [onBreak]
 * @param {{kinds?: string[]}} [options] only events of these kinds
 */
export async function* follow(jobId, signal, onBreak = () => {}, { kinds = [] } = {}) {
  let last = "0"; // the id of the last event
  let pause = 500;
  for (;;) {
    await seen(signal);
    const mine = shown.signal;
    try {
      const headers = { accept: "text/event-stream", "last-event-id": last };
      const open = AbortSignal.any([signal, mine]);
      const response = await raw("GET", `/v1/jobs/${jobId}/events`, { headers, signal: open, query: { kind: kinds } });
      for await (const frames of framesOf(response.body)) {
        pause = 500;
        onBreak(null);
        const events = frames.filter((frame) => frame.id);
        if (events.length) {
          last = events.at(-1).id;
          yield events.map((frame) => parseShown(frame.data));
        }
        if (frames.some((frame) => frame.event === "end")) return;
      }
    } catch (error) {
      if (signal.aborted || error.isFinal) throw error;
      if (mine.aborted) continue; // hidden: no connection was lost
      onBreak(error);
    }
    await sleep(pause, signal);
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}

/** Yields arrays of frames of a text/event-stream. */
async function* framesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await within(LONGEST_SILENCE, reader.read());
      if (done) return;
      const texts = (rest + value).split("\n\n");
      rest = texts.pop();
      yield texts.map(parsed);
    }
  } finally {
    reader.cancel().catch(() => {}); // fails if the connection is lost
  }
}

async function within(ms, promise) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Unreachable()), ms);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function parsed(text) {
  const frame = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) frame[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  return frame;
}

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
