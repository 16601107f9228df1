// The test accuracy of the rows over epochs, a few points each, fetched with one request.
import { nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { isOver, percent } from "../../lib/format.js";
import { spark } from "../../charts/spark.js";

const POINTS = 24;
const MOST = 100; // jobs of a request
const NAME = "test_accuracy";

/** The curves of the jobs that were shown. */
export class Sparks {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Map<string, {values: (number | null)[], isWhole: boolean}>} */
    this.curves = new Map();
  }

  /** Asks for what is new: curves of jobs that train, and of those not seen before. */
  async fetch(jobs, signal) {
    const wanted = jobs.filter((job) => job.progress && !this.curves.get(job.id)?.isWhole).slice(0, MOST);
    if (!wanted.length || this.isAsking) return;
    this.isAsking = true;
    try {
      const query = { jobs: wanted.map((job) => job.id).join(","), names: NAME, scope: "epoch", points: POINTS };
      const answer = await api.get("/v1/metrics", { query, signal });
      const found = new Map(answer.jobs.map((job) => [job.job, job.series[0]?.last ?? []]));
      for (const job of wanted)
        this.curves.set(job.id, { values: found.get(job.id) ?? [], isWhole: isOver(job.state) });
      this.onChange();
    } catch {
      /* The next load of the list asks again. */
    } finally {
      this.isAsking = false;
    }
  }

  /** @param {{id: string}} job */
  cell(job) {
    const values = this.curves.get(job.id)?.values ?? [];
    const known = values.filter((value) => value !== null);
    if (known.length < 2) return nothing;
    return spark(values, `Test accuracy from ${percent(known[0])} to ${percent(known.at(-1))}`);
  }
}
