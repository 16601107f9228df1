// The selected jobs: they survive paging, sorting and a reload of the tab.

const KEPT = "ipulse-selection";
const MOST = 2000;

export class Selection {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    /** @type {Map<string, {id: string, name: string, state: string, allowed: string[]}>} */
    this.jobs = new Map();
    /** @type {{q: string, total: number} | null} all jobs of a search instead of `jobs` */
    this.search = null;
    this.last = ""; // the id that was toggled last, for Shift
    try {
      const { jobs, search } = JSON.parse(sessionStorage.getItem(KEPT) ?? '{"jobs": [], "search": null}');
      for (const job of jobs) this.jobs.set(job.id, { allowed: [], ...job });
      this.search = search;
    } catch {
      /* an older form */
    }
  }

  get size() {
    return this.search?.total ?? this.jobs.size;
  }
  get ids() {
    return [...this.jobs.keys()];
  }
  has(id) {
    return this.search !== null || this.jobs.has(id);
  }

  /** Selects all jobs of a search, also those of other pages. */
  setSearch(q, total) {
    this.search = { q, total };
    this.changed();
  }

  /** The selection of a search ends with the search; its number follows the list. */
  follow(q, total) {
    if (!this.search) return;
    if (this.search.q !== q || total === 0) this.clear();
    else if (total !== null) this.search.total = total;
  }

  /** Selects a job or not. Of a whole search, the `rows` of the page stay selected. */
  toggle(job, rows) {
    if (this.search) {
      this.search = null;
      this.jobs.clear();
      rows.forEach((row) => this.add(row));
    }
    if (!this.jobs.delete(job.id)) this.add(job);
    this.last = job.id;
    this.changed();
  }

  /** Selects the rows between the last one and this one. */
  extend(rows, job) {
    const [from, to] = [this.last, job.id].map((id) => rows.findIndex((row) => row.id === id)).sort((a, b) => a - b);
    if (from < 0) return;
    rows
      .slice(from, to + 1)
      .filter((row) => row.id !== job.id)
      .forEach((row) => this.add(row));
  }

  setAll(jobs, isSelected) {
    if (!isSelected && this.search) this.jobs.clear();
    this.search = null;
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
    this.search = null;
    this.jobs.clear();
    this.changed();
  }

  add({ id, name, state, allowed }) {
    if (this.jobs.size < MOST) this.jobs.set(id, { id, name, state, allowed });
  }

  changed() {
    sessionStorage.setItem(KEPT, JSON.stringify({ jobs: [...this.jobs.values()], search: this.search }));
    this.onChange();
  }

  compareAddress() {
    if (this.search) return `/compare?q=${encodeURIComponent(this.search.q)}`;
    return `/compare?jobs=${this.ids
      .slice(0, 100)
      .map((id) => id.slice(4))
      .join(",")}`;
  }
}
