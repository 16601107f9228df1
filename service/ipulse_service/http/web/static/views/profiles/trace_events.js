// Execution traces as typed arrays: a million events are a few arrays, and no objects.

export const KINDS = ["compute", "exchange", "sync", "host"]; // of cycles
const ORDER = ["sync", "exchange", "host", "compute"]; // within a step

/**
 * Events that do not overlap, in order. `names` are indices into the trace's names, `kinds` into its kinds.
 * @typedef {{title: string, count: number, starts: Float64Array, ends: Float64Array, names: Uint32Array, kinds:
 * Uint8Array}} Lane
 * @typedef {{unit: string, begin: number, end: number, names: string[], kinds: string[], lanes: Lane[]}} Trace
 */

/** Collects the events of one lane; the arrays double when they are full. */
class LaneBuilder {
  /** @param {string} title */
  constructor(title) {
    this.title = title;
    this.count = 0;
    this.last = 0; // where the latest event ends
    this.starts = new Float64Array(1024);
    this.ends = new Float64Array(1024);
    this.names = new Uint32Array(1024);
    this.kinds = new Uint8Array(1024);
  }

  add(start, end, name, kind) {
    if (this.count === this.starts.length) {
      for (const field of ["starts", "ends", "names", "kinds"]) {
        const larger = new this[field].constructor(2 * this.count);
        larger.set(this[field]);
        this[field] = larger;
      }
    }
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.names[this.count] = name;
    this.kinds[this.count] = kind;
    this.count += 1;
    this.last = end;
  }

  /** @returns {Lane} */
  lane() {
    const { title, count } = this;
    return {
      title,
      count,
      starts: this.starts.subarray(0, count),
      ends: this.ends.subarray(0, count),
      names: this.names.subarray(0, count),
      kinds: this.kinds.subarray(0, count),
    };
  }
}

/** The indices of names, each name once. */
class Names {
  constructor() {
    this.list = [];
    this.indices = new Map();
  }

  index(name) {
    let at = this.indices.get(name);
    if (at === undefined) this.indices.set(name, (at = this.list.push(name) - 1));
    return at;
  }
}

/**
 * The recorded runs of a Poplar program: a lane an IPU.
 * @param {any} document poplar_profile.json
 * @returns {Trace | null}
 */
export function ofPoplar({ compilation, execution }) {
  const runs = execution?.runs ?? [];
  if (!runs.some((run) => run.steps.length)) return null;
  const labels = new Map(compilation.programs.map((program) => [program._id, program.name || program.type]));
  const names = new Names();
  const lanes = Array.from({ length: compilation.target.numIPUs || 1 }, (_, at) => new LaneBuilder(`IPU ${at}`));
  for (const { steps } of runs) {
    for (const step of steps) {
      const name = names.index(labels.get(step.program) ?? `step ${step.program}`);
      const from = Math.max(...lanes.map(({ last }) => last));
      for (let at = 0; at < lanes.length; at += 1) addStep(lanes[at], step, step.ipus?.[at], name, from);
    }
  }
  const built = lanes.map((lane) => lane.lane());
  return {
    unit: "cycles",
    begin: Math.min(...built.map(({ starts }) => starts[0] ?? 0)),
    end: Math.max(...lanes.map(({ last }) => last)),
    names: names.list,
    kinds: KINDS,
    lanes: built,
  };
}

/** Adds the parts of one step: sync, exchange, host, and what this IPU computes. */
function addStep(lane, step, ipu, name, from) {
  let at = ipu?.activeCycles?.cyclesFrom?.min ?? from;
  const shared = step.syncCycles + step.exchangeCycles + step.hostCycles;
  const compute = ipu?.cycles === undefined ? step.computeCycles : Math.max(0, ipu.cycles - shared);
  for (const kind of ORDER) {
    const cycles = kind === "compute" ? compute : step[`${kind}Cycles`];
    if (cycles) lane.add(at, at + cycles, name, KINDS.indexOf(kind));
    at += cycles;
  }
}

/**
 * The time line of a runner, as Chrome trace events: a lane a thread and depth.
 * @param {any} document trace.json
 * @returns {Trace | null}
 */
export function ofRunner({ traceEvents }) {
  const titles = new Map(
    traceEvents
      .filter(({ ph, name }) => ph === "M" && name === "thread_name")
      .map((event) => [event.tid, event.args.name]),
  );
  const spans = traceEvents.filter(({ ph }) => ph === "X").sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  if (!spans.length) return null;
  const names = new Names();
  const kinds = new Names();
  const lanes = new Map();
  const open = new Map(); // thread -> ends of the spans that contain the next one
  for (const { tid, ts, dur, name, cat } of spans) {
    const ends = open.get(tid) ?? open.set(tid, []).get(tid);
    while (ends.length && ends.at(-1) <= ts + 1e-3) ends.pop();
    const key = `${tid} ${ends.length}`;
    const title = `${titles.get(tid) ?? `thread ${tid}`}${ends.length ? ` ${ends.length + 1}` : ""}`;
    const lane = lanes.get(key) ?? lanes.set(key, new LaneBuilder(title)).get(key);
    lane.add(ts, ts + dur, names.index(name), Math.min(255, kinds.index(cat ?? name)));
    ends.push(ts + dur);
  }
  const built = [...lanes]
    .sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
    .map(([, lane]) => lane.lane());
  return {
    unit: "µs",
    begin: spans[0].ts,
    end: Math.max(...built.map(({ ends }) => ends.at(-1))),
    names: names.list,
    kinds: kinds.list,
    lanes: built,
  };
}

/**
 * The first event of a lane that ends after a time; `count` if there is none.
 * @param {Lane} lane
 * @param {number} time
 */
export function firstAfter({ ends, count }, time) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The time by kind and by name in a window, of all lanes; a window of a million events takes a few milliseconds.
 * @param {Trace} trace @param {number} from @param {number} to
 */
export function sums(trace, from, to) {
  const byKind = new Float64Array(trace.kinds.length);
  const byName = new Float64Array(trace.names.length);
  const counts = new Uint32Array(trace.names.length);
  let events = 0;
  for (const lane of trace.lanes) {
    for (let at = firstAfter(lane, from); at < lane.count && lane.starts[at] < to; at += 1) {
      const time = Math.min(to, lane.ends[at]) - Math.max(from, lane.starts[at]);
      byKind[lane.kinds[at]] += time;
      byName[lane.names[at]] += time;
      counts[lane.names[at]] += 1;
      events += 1;
    }
  }
  return { events, byKind, byName, counts };
}

/**
 * The time of each kind in each pixel: `width` rows of `kinds` numbers from 0 to 1.
 * @param {Trace} trace
 * @param {Lane} lane
 * @param {number} from
 * @param {number} to
 * @param {number} width
 * @param {Uint8Array | null} chosen 1 for names to draw
 */
export function columns(trace, lane, from, to, width, chosen) {
  const kinds = trace.kinds.length;
  const found = new Float32Array(width * kinds);
  const pixel = (to - from) / width;
  for (let at = firstAfter(lane, from); at < lane.count && lane.starts[at] < to; at += 1) {
    if (chosen && !chosen[lane.names[at]]) continue;
    const start = Math.max(from, lane.starts[at]);
    const end = Math.min(to, lane.ends[at]);
    const first = Math.max(0, Math.floor((start - from) / pixel));
    const last = Math.min(width - 1, Math.floor((end - from) / pixel));
    for (let x = first; x <= last; x += 1) {
      const left = from + x * pixel;
      const share = (Math.min(end, left + pixel) - Math.max(start, left)) / pixel;
      if (share > 0) found[x * kinds + lane.kinds[at]] += share;
    }
  }
  return found;
}
