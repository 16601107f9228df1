// The selected jobs: they survive paging, sorting and a reload of the tab.

const KEPT = "ipulse-selection";
const MOST = 2000;

export class Selection {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Map<string, {id: string, name: string, state: string}>} */
    this.jobs = new Map();
    this.last = ""; // the id that was toggled last, for Shift
    try {
      for (const job of JSON.parse(sessionStorage.getItem(KEPT) ?? "[]")) this.jobs.set(job.id, job);
    } catch { /* an older form */ }
  }

  get size() { return this.jobs.size; }
  get ids() { return [...this.jobs.keys()]; }
  has(id) { return this.jobs.has(id); }

  toggle(job) {
    if (!this.jobs.delete(job.id)) this.add(job);
    this.last = job.id;
    this.changed();
  }

  /** Selects the rows between the last one and this one. */
  extend(rows, job) {
    const [from, to] = [this.last, job.id].map((id) => rows.findIndex((row) => row.id === id)).sort((a, b) => a - b);
    if (from < 0) return;
    rows.slice(from, to + 1).filter((row) => row.id !== job.id).forEach((row) => this.add(row));
  }

  setAll(jobs, isSelected) {
    for (const job of jobs) {
      if (isSelected) this.add(job);
      else this.jobs.delete(job.id);
    }
    this.changed();
  }

  remove(ids) {
    ids.forEach((id) => this.jobs.delete(id));
    this.changed();
  }

  clear() {
    this.jobs.clear();
    this.changed();
  }

  add({ id, name, state }) { if (this.jobs.size < MOST) this.jobs.set(id, { id, name, state }); }

  changed() {
    sessionStorage.setItem(KEPT, JSON.stringify([...this.jobs.values()]));
    this.onChange();
  }

  compareAddress() { return `/compare?jobs=${this.ids.slice(0, 100).map((id) => id.slice(4)).join(",")}`; }
}
