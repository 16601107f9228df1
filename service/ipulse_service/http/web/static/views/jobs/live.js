// Updates of the list while the pointer is over it.

/**
 * The fresh rows in the order of the old ones, so that nothing moves under the pointer; `added` counts those that
 * would appear.
 * @param {any} old @param {any} fresh
 */
export function merged(old, fresh) {
  const latest = new Map(fresh.jobs.map((job) => [job.id, job]));
  const known = new Set(old.jobs.map((job) => job.id));
  const added = fresh.jobs.filter((job) => !known.has(job.id)).length;
  return { ...fresh, jobs: old.jobs.map((job) => latest.get(job.id) ?? job), added };
}
