// Formats numbers, times and states for people.
import { element } from "./element.js";

export const PHASES = ["prepare", "compile", "acquire", "run", "report"];
const PHASE_OF = { preparing: "prepare", compiling: "compile", acquiring: "acquire", running: "run", reporting: "report" };
const ENDS = new Set(["succeeded", "failed", "cancelled"]);
const PAUSABLE = new Set(["queued", "retry_wait", ...Object.keys(PHASE_OF)]);

export const isOver = (job) => ENDS.has(job.state);
export const mayPause = (job) => PAUSABLE.has(job.state);
export const phaseOf = (job) => PHASE_OF[job.state] ?? null;
export const STATES = ["queued", ...Object.keys(PHASE_OF), "cancelling", "pausing", "paused", "retry_wait", ...ENDS];

export const plain = (name) => name.replaceAll("_", " ");

export function chip(job) {
  const kind = ENDS.has(job.state) ? job.state : PHASE_OF[job.state] ? "active" : "waiting";
  return element(`span.chip.${kind}`, {}, plain(job.state));
}

/** 0.042 s, 3.1 s, 2 min 5 s, 3 h 4 min */
export function duration(seconds) {
  if (seconds < 0.001) return "0 s";
  if (seconds < 10) return `${seconds.toPrecision(2)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function moment(text) {
  if (!text) return "";
  const time = new Date(text);
  const today = time.toDateString() === new Date().toDateString();
  const shown = today ? time.toLocaleTimeString() : time.toLocaleString();
  return element("time", { datetime: text, title: time.toLocaleString() }, shown);
}

export function took(job) {
  if (!job.started_at) return "";
  const end = job.finished_at ? Date.parse(job.finished_at) : Date.now();
  return duration(Math.max(0, (end - Date.parse(job.started_at)) / 1000));
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB"];
  const power = count ? Math.min(3, Math.floor(Math.log2(count) / 10)) : 0;
  const value = count / 1024 ** power;
  return `${power && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

/** The progress of the training, in one line. */
export function progress(job) {
  const at = job.progress;
  return at ? `epoch ${at.epoch.toLocaleString("en")} of ${at.epochs.toLocaleString("en")}` : "";
}

/** The reason why a job waits, in a sentence. */
export function waiting(on) {
  if (!on) return "";
  const place = on.position ? `, number ${on.position} of ${on.of} in the queue` : "";
  const holder = on.holder ? `, behind ${on.holder} on ${on.holder_device}` : "";
  const begin = on.estimated_start ? `, expected to start at ${new Date(on.estimated_start).toLocaleTimeString()}` : "";
  return `Waiting: ${plain(on.reason)}${place}${holder}${begin}${on.detail ? `. ${on.detail}` : ""}`;
}
