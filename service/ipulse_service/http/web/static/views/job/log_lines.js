// The lines of a job's log as they arrive, and those that a filter leaves.
import { phaseOf } from "../../lib/format.js";
import { follow } from "../../lib/stream.js";

const KINDS = ["log", "phase", "checkpoint", "state"];
const RANKS = { debug: 0, info: 1, warning: 2, error: 3 };
const DRAW_EVERY = 150; // ms

/**
 * @typedef {{number: number, time: string, attempt: number | null, level: string, stream: string, text: string,
 * isStep: boolean, checkpoints: number}} Line
 */

/** Event "change" when lines have come. */
export class LogLines extends EventTarget {
  /** @param {string} id */
  constructor(id) {
    super();
    this.id = id;
    /** @type {Line[]} */
    this.lines = [];
    this.isComplete = false;
    this.broken = null;
    this.isDrawn = false;
    this.stopping = new AbortController();
  }

  stop() {
    this.stopping.abort();
  }

  async start() {
    const { signal } = this.stopping;
    try {
      for await (const events of follow(
        this.id,
        signal,
        (error) => {
          this.broken = error;
          this.changed();
        },
        { kinds: KINDS },
      )) {
        for (const event of events) this.add(event);
        this.changed();
      }
      this.isComplete = true;
    } catch (error) {
      if (!signal.aborted) this.broken = error;
    }
    this.changed();
  }

  /** Draws the first lines at once. */
  changed() {
    this.timer ??= setTimeout(
      () => {
        this.timer = null;
        this.isDrawn ||= this.lines.length > 0;
        if (!this.stopping.signal.aborted) this.dispatchEvent(new Event("change"));
      },
      this.isDrawn ? DRAW_EVERY : 0,
    );
  }

  add(event) {
    if (event.kind === "state" && phaseOf(event.state)) return; // its phase is a line already
    const last = this.lines.at(-1);
    if (event.kind === "checkpoint" && last?.checkpoints) {
      // one line for all in a row
      last.checkpoints += 1;
      last.text = `checkpoint after step ${event.step} (${last.checkpoints} in a row)`;
      last.time = event.time;
      return;
    }
    const line = {
      number: this.lines.length + 1,
      time: event.time,
      attempt: event.attempt,
      level: event.level ?? "info",
      stream: event.stream ?? "service",
      text: "",
      isStep: event.kind === "phase" || event.kind === "state",
      checkpoints: event.kind === "checkpoint" ? 1 : 0,
    };
    if (event.kind === "log") line.text = event.message;
    else if (event.kind === "phase") line.text = `attempt ${event.attempt}: ${event.phase}`;
    else if (event.kind === "checkpoint") line.text = `checkpoint after step ${event.step}`;
    else {
      line.text = [event.state.replaceAll("_", " "), event.reason?.replaceAll("_", " "), event.message]
        .filter(Boolean)
        .join(": ");
      if (event.state === "failed") line.level = "error";
    }
    this.lines.push(line);
  }
}

/** The lines of at least a level, of an attempt and of a stream. @param {Line[]} lines */
export function filtered(lines, { level, attempt, stream }) {
  if (!level && !attempt && !stream) return lines;
  const least = RANKS[level] ?? 0;
  return lines.filter(
    (line) =>
      (line.isStep || (!line.checkpoints && (RANKS[line.level] ?? 1) >= least)) &&
      (!attempt || line.attempt === null || line.attempt === attempt) &&
      (!stream || line.isStep || line.stream === stream),
  );
}

/** A test for lines; null for an empty text. Throws SyntaxError for a wrong expression. @returns {RegExp | null} */
export function expressionOf(text) {
  if (!text) return null;
  const [, inner] = /^\/(.+?)\/?$/.exec(text) ?? [];
  return new RegExp(inner ?? text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), "i");
}
