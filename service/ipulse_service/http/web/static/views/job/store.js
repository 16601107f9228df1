// The events of a job so far, except for its log.
import { follow } from "../../lib/stream.js";

const KINDS = ["state", "phase", "progress", "metric", "checkpoint"];
const DRAW_EVERY = 250; // ms

/**
 * One metric in one scope; all lists have the same length.
 * @typedef {{name: string, scope: string, heldOut: string, epoch: number[], step: number[], time: number[], wall:
 * number[], values: number[]}} Series
 */

/** Events: "change" when something is to be drawn, "state" when the job's state has changed. */
export class JobStore extends EventTarget {
  /** @param {string} id */
  constructor(id) {
    super();
    this.id = id;
    this.stopping = new AbortController();
    /** @type {Map<string, Series>} */
    this.series = new Map();
    this.progress = null; // the latest progress event
    this.checkpoint = null; // the latest checkpoint event
    this.entered = { attempt: 0, phases: [] }; // by the latest attempt, in order
    this.states = []; // {state, reason, message, time}
    this.broken = null;
    this.hasEnded = false; // a retried job has further events, in another stream
    this.clock = { attempt: 0, at: 0, seconds: 0, first: 0 };
  }

  get isStopped() {
    return this.stopping.signal.aborted;
  }

  stop() {
    this.stopping.abort();
  }

  async start() {
    const { signal } = this.stopping;
    const onBreak = (error) => {
      if (Boolean(error) !== Boolean(this.broken)) this.changed();
      this.broken = error;
    };
    try {
      for await (const events of follow(this.id, signal, onBreak, { kinds: KINDS })) {
        events.forEach((event) => this.add(event));
        this.changed();
        if (events.some((event) => event.kind === "state")) this.dispatchEvent(new Event("state"));
      }
      this.hasEnded = true;
    } catch (error) {
      if (signal.aborted) return;
      if (!error.isFinal) throw error;
    }
    this.dispatchEvent(new Event("state")); // the job has ended, or its view asks for it and shows the error
    this.changed();
  }

  changed() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (!this.isStopped) this.dispatchEvent(new Event("change"));
    }, DRAW_EVERY);
  }

  add(event) {
    switch (event.kind) {
      case "state":
        this.states.push(event);
        if (event.state === "queued" || event.state === "retry_wait") this.progress = null;
        break;
      case "phase":
        if (event.attempt !== this.entered.attempt) this.entered = { attempt: event.attempt, phases: [] };
        this.entered.phases.push(event.phase);
        break;
      case "progress":
        this.progress = event;
        break;
      case "checkpoint":
        this.checkpoint = event;
        break;
      case "metric":
        this.measure(event);
        break;
      default:
    }
  }

  /** Adds a metric event; an attempt that resumes from a checkpoint replaces what came after it. */
  measure(event) {
    const at = Date.parse(event.time) / 1000;
    const { clock } = this;
    if (event.attempt !== clock.attempt) {
      this.series.forEach((one) => forget(one, event.step));
      clock.attempt = event.attempt;
    } else {
      clock.seconds += Math.max(0, at - clock.at);
    }
    clock.first ||= at;
    clock.at = at;
    const scope = event.scope ?? ("test_loss" in event.values ? "epoch" : "step");
    for (const [name, value] of Object.entries(event.values)) {
      const key = `${scope} ${name}`;
      if (!this.series.has(key)) {
        this.series.set(key, {
          name,
          scope,
          heldOut: event.held_out ?? "test",
          epoch: [],
          step: [],
          time: [],
          wall: [],
          values: [],
        });
      }
      const one = this.series.get(key);
      one.step.push(event.step);
      one.epoch.push(scope === "epoch" ? event.epoch : (event.step / event.steps) * event.epochs);
      one.time.push(clock.seconds);
      one.wall.push(at - clock.first);
      one.values.push(value);
    }
  }
}

function forget(series, step) {
  while (series.step.length && series.step.at(-1) >= step) {
    for (const list of [series.step, series.epoch, series.time, series.wall, series.values]) list.pop();
  }
}
