// Numbers, times and states for people.

export const PHASES = ["prepare", "compile", "acquire", "run", "report"];
const PHASE_OF = {
  preparing: "prepare",
  compiling: "compile",
  acquiring: "acquire",
  running: "run",
  reporting: "report",
};
const ENDS = new Set(["succeeded", "failed", "cancelled"]);
const PAUSABLE = new Set(["queued", "retry_wait", ...Object.keys(PHASE_OF)]);

export const STATES = [
  "queued",
  ...Object.keys(PHASE_OF),
  "cancelling",
  "pausing",
  "paused",
  "retry_wait",
  "blocked",
  ...ENDS,
];
export const isOver = (state) => ENDS.has(state);
export const mayPause = (state) => PAUSABLE.has(state);
export const phaseOf = (state) => PHASE_OF[state] ?? null;

const TURNS = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufefc]/;

/**
 * Returns a name that does not change the direction of the text beside it; for plain text, without elements around
 * names.
 * @param {string} name
 */
export const isolated = (name) => (TURNS.test(name) ? `\u2068${name.replaceAll("\u2069", "")}\u2069` : name);
export const plain = (name) => String(name).replaceAll("_", " ");

/** The key of a profile in words: savedForBackward is "saved for backward". */
export const keyWords = (key) =>
  plain(key)
    .replaceAll(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`)
    .replace("peak rss", "peak memory of the process");

/** The colour and icon of a state. */
export function stateKind(state) {
  if (ENDS.has(state) || state === "paused") return state;
  return PHASE_OF[state] ? "active" : "waiting";
}

const WITH_THOUSANDS = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/**
 * Three significant digits, thousands separated, no exponents between 1e-4 and 1e7.
 * @param {number | null | undefined} value
 */
export function number(value) {
  if (value === null || value === undefined) return "—";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2).replace("e+", "e").replace("-", "−");
  if (Number.isInteger(value) || size >= 1000) return WITH_THOUSANDS.format(value).replace("-", "−");
  return String(Number(value.toPrecision(3))).replace("-", "−");
}

export const percent = (share) =>
  share === null || share === undefined ? "—" : `${(100 * share).toFixed(share > 0 && share < 0.01 ? 2 : 1)} %`;

const SHARES =
  /(^|[._])(accuracy|firing_rate|gradient_set|share|fraction)([._/]|$)|accuracy$|_rate(\/\d+)?$|fraction(\/\d+)?$/;
const SECONDS = /seconds$/;
const DIGEST = /^(sha256:[0-9a-f]{8})[0-9a-f]{56}$/;

/** Whether a metric or column is a share that is shown in percent. */
export const isShare = (name) => SHARES.test(name) && !/learning_rate/.test(name);

/** The value of a metric or column in its unit. @param {string} name @param {unknown} value */
export function metric(name, value) {
  if (value === null || value === undefined) return "—";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number")
    return typeof value === "object" ? JSON.stringify(value) : String(value).replace(DIGEST, "$1…");
  if (isShare(name)) return percent(value);
  if (SECONDS.test(name)) return shortDuration(value);
  return number(value);
}

const WORDS = {
  test_accuracy: "Test acc.",
  test_loss: "Test loss",
  validation_accuracy: "Validation acc.",
  validation_loss: "Validation loss",
  test_mae: "Test abs. error",
  validation_mae: "Validation abs. error",
  mae: "Training abs. error",
  test_r2: "Test R²",
  accuracy: "Training acc.",
  loss: "Training loss",
  gradient_set: "Active-gradient fraction",
  overflow: "Dropped spikes",
  "data.dataset": "Data set",
};

/** A layer as it is shown: by its name, without one `layers[0]` for the key 1. */
export const layerTitle = (key, name = undefined) =>
  name ?? (/^\d+$/.test(String(key)) ? `layers[${Number(key) - 1}]` : String(key));

/** A metric or column in words. */
export function label(name) {
  if (WORDS[name]) return WORDS[name];
  const [, kind, layer] = /^(\w+)\/(\w+)$/.exec(name) ?? [];
  if (kind) return `${label(kind)}, ${layerTitle(layer)}`;
  const words = plain(name)
    .replace(/^(?:(?:network\.)?layers\.)?(\d+)\./, (_, index) => `layers[${index}] `)
    .replace(/^(?:training\.)?(?:optimizer|schedule)\./, "")
    .replaceAll(".", " ");
  return words.startsWith("layers[") ? words : words.charAt(0).toUpperCase() + words.slice(1);
}

const two = (count) => String(count).padStart(2, "0");

/** As `duration` of ipulse/cli/display/progress.py: 9.9 s, 99 s, 1 min 40 s, 2 h 01 min, 2 d 03 h */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "—";
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes < 100) return `${minutes} min ${two(whole % 60)} s`;
  if (hours < 48) return `${hours} h ${two(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** The band in which the cycles of an IPU are expected. @param {{low: number, high: number, share: number}} band */
export const bandText = ({ low, high, share }) =>
  `${number(low)} to ${number(high)} expected on an IPU (${Math.round(100 * share)} %)`;

/** A count such as of cycles: 1,234,567, 20.2 M, 1.35 G. @param {number} value */
export function count(value) {
  const [unit, size] = value >= 1e10 ? [" G", 1e9] : value >= 1e7 ? [" M", 1e6] : ["", 1];
  return unit ? `${Number((value / size).toPrecision(3))}${unit}` : WITH_THOUSANDS.format(value);
}

/** Times of less than 0.1 s in ms and µs, longer ones as `duration`. @param {number} seconds */
export function shortDuration(seconds) {
  if (seconds >= 0.1) return duration(seconds);
  return seconds >= 1e-3 ? `${number(1e3 * seconds)} ms` : `${number(1e6 * seconds)} µs`;
}

/** "now", "3 min ago", "in 5 min", "14 Nov" */
export function relative(time, now = Date.now()) {
  const seconds = (now - time) / 1000;
  const size = Math.abs(seconds);
  if (size < 10) return "now";
  if (size > 7 * 86_400) {
    const isThisYear = time.getFullYear() === new Date(now).getFullYear();
    return time.toLocaleDateString("en-GB", {
      day: "numeric",
      month: "short",
      ...(isThisYear ? {} : { year: "numeric" }),
    });
  }
  const [amount, unit] =
    size < 60
      ? [Math.floor(size / 10) * 10, "s"]
      : size < 3600
        ? [Math.floor(size / 60), "min"]
        : size < 86_400
          ? [Math.floor(size / 3600), "h"]
          : [Math.floor(size / 86_400), "d"];
  return seconds >= 0 ? `${amount} ${unit} ago` : `in ${amount} ${unit}`;
}

/**
 * The seconds for which agents have had a job: its phases after the queue, or while it runs, its attempts until now.
 * @returns {number | null}
 */
export function elapsed(job) {
  if (!job.started_at) return null;
  const phases = PHASES.filter((name) => job.phase_seconds?.[name] !== undefined);
  const isHeld = job.attempts?.at(-1)?.finished_at === null;
  if (phases.length && !isHeld) return phases.reduce((sum, name) => sum + job.phase_seconds[name], 0);
  const spans = job.attempts?.length ? job.attempts : [job];
  const until = (one) => (one.finished_at ? Date.parse(one.finished_at) : Date.now());
  return spans.reduce((sum, one) => sum + Math.max(0, until(one) - Date.parse(one.started_at)), 0) / 1000;
}

export function bytes(count) {
  if (count === null || count === undefined) return "—";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = count ? Math.min(4, Math.floor(Math.log2(count * 1.0005) / 10)) : 0; // not 1024 KiB
  const value = count / 1024 ** power;
  return `${power && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}
