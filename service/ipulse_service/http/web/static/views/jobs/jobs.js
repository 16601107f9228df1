// The table of jobs: search, columns, selection.
import { html, nothing } from "../../vendor.js";
import { api } from "../../lib/api.js";
import { View } from "../../app/view.js";
import { navigate, updateQuery } from "../../app/router.js";
import { maySubmit, who } from "../../app/session.js";
import { STATES, phaseOf } from "../../lib/format.js";
import { names, quoted } from "../../lib/query.js";
import { isLeaving } from "../../parts/deletions.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { empty } from "../../parts/states.js";
import { actionBar } from "./actions.js";
import { chooseColumns } from "./columns.js";
import { columnOf, defaults, requested } from "./cells.js";
import { groupTable, groups } from "./groups.js";
import { merged } from "./live.js";
import { Selection } from "./selection.js";
import { Sparks } from "./sparks.js";
import { jobTable } from "./table.js";
import { viewMenu } from "./views.js";
import "./search.js";

const PAGE = 50;
const KEPT = "ipulse-columns";

const groupWords = (group) => ({ "": "none", seed: "all but the seed" })[group] ?? group;

class JobsView extends View {
  static poll = 2000;
  static properties = {
    ...View.properties,
    cursor: { state: true },
    isHeld: { state: true },
    groupRows: { state: true },
  };

  constructor() {
    super();
    this.selection = new Selection(() => this.requestUpdate());
    this.sparks = new Sparks(() => this.requestUpdate());
    this.cursor = -1; // the row of the keyboard
    this.groupRows = 0; // that were asked for
    this.isHeld = false; // while the pointer is over the rows, they stay where they are
    this.onShortcut = (event) => this.shortcut(event);
    this.onChange = () => this.reload();
  }

  connectedCallback() {
    super.connectedCallback();
    window.addEventListener("shortcut", this.onShortcut);
    window.addEventListener("jobs-changed", this.onChange);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    window.removeEventListener("shortcut", this.onShortcut);
    window.removeEventListener("jobs-changed", this.onChange);
  }

  get q() {
    return this.route.query.get("q") ?? this.oldFilters();
  }
  get sort() {
    return this.route.query.get("sort") ?? "";
  }
  get group() {
    return this.route.query.get("group") ?? "";
  }
  get page() {
    return Math.max(1, Number(this.route.query.get("page")) || 1);
  }

  /** The columns of the address, else those of the last visit. */
  get columns() {
    const text = this.route.query.get("columns") ?? localStorage.getItem(KEPT);
    return text ? names(text) : defaults;
  }

  /** Addresses of older versions had a parameter for each filter. */
  oldFilters() {
    const { query } = this.route;
    const label = query
      .get("label")
      ?.replace(/^([^=]+)=(.*)$/, (_, name, value) => `label.${quoted(name)}:${quoted(value)}`);
    return [...["state", "device"].filter((name) => query.get(name)).map((name) => `${name}:${query.get(name)}`), label]
      .filter(Boolean)
      .join(" ");
  }

  loadKey(route) {
    return route.query.toString();
  }

  heading() {
    return this.q ? `${this.q} · Jobs` : "Jobs";
  }

  async load(_route, signal) {
    const { q, sort, columns, page, group } = this;
    const waits = columns.includes("progress") && !group ? "true" : "";
    const query = {
      q,
      sort,
      columns: requested(columns).join(","),
      waiting_on: waits,
      count: "true",
      page_size: PAGE,
      skip: (page - 1) * PAGE,
    };
    try {
      const [answer, states, grouped] = await Promise.all([
        api.get("/v1/jobs", { query, signal }),
        api.get("/v1/jobs:suggest", { query: { q: "state:" }, signal }).catch(() => ({ items: [] })),
        group ? groups(q, group, signal) : null,
        who(),
      ]);
      if (columns.includes("curve") && !group) this.sparks.fetch(answer.jobs, signal);
      this.selection.follow(q, answer.total);
      const jobs = answer.jobs.filter((job) => !isLeaving(job, q));
      const total = answer.total - (answer.jobs.length - jobs.length);
      const counts = new Map(states.items.map((item) => [item.label, item.jobs]));
      const fresh = { ...answer, jobs, total, counts, grouped, key: JSON.stringify(query), queryError: null, added: 0 };
      return this.isHeld && this.data?.key === fresh.key ? merged(this.data, fresh) : fresh;
    } catch (error) {
      if (error.code !== "invalid_query") throw error;
      return { jobs: [], total: 0, counts: new Map(), grouped: null, ...this.data, queryError: error };
    }
  }

  set(changes) {
    updateQuery({ page: null, ...changes });
  }

  async pickColumns() {
    const chosen = await chooseColumns(this.columns, this.q);
    if (!chosen) return;
    localStorage.setItem(KEPT, chosen.join(","));
    this.set({ columns: chosen.join(",") === defaults.join(",") ? null : chosen.join(",") });
  }

  /** Sorts by a column: descending for figures first, then the other way, then not. */
  sortBy(key, isAdded) {
    const keys = names(this.sort);
    const present = keys.find((one) => one.replace(/^-/, "") === key);
    const column = columnOf(key);
    const order = "isText" in column && column.isText ? [key, `-${key}`] : [`-${key}`, key];
    const next = present ? order[order.indexOf(present) + 1] : order[0];
    const rest = isAdded ? keys.filter((one) => one !== present) : [];
    this.set({ sort: [...rest, ...(next ? [next] : [])].join(",") });
  }

  shortcut(event) {
    const rows = this.data?.jobs ?? [];
    const key = event.detail;
    const job = rows[this.cursor];
    if (key === "/") /** @type {HTMLElement} */ (this.querySelector("ip-search input")).focus();
    else if (key === "j" || key === "k") {
      this.cursor = Math.max(0, Math.min(rows.length - 1, this.cursor + (key === "j" ? 1 : -1)));
      this.updateComplete.then(() =>
        /** @type {HTMLElement | null} */ (this.querySelector("tr.cursor a.name"))?.focus(),
      );
    } else if (key === "x" && job) this.selection.toggle(job, rows);
    else if (key === "c" && this.selection.size) navigate(this.selection.compareAddress());
    else return;
    event.preventDefault();
  }

  view(data) {
    const { q } = this;
    const isFirst = !data.total && !q && !data.queryError;
    if (isFirst) {
      return html`<h1 class="visually-hidden">Jobs</h1>${empty({
        title: "No jobs yet",
        text: "A job trains one spiking network. Its curves, log and results appear here.",
        ...(maySubmit()
          ? { action: { words: "New job", href: "/new" }, command: "ipulse submit examples/digits.yaml --watch" }
          : {}),
      })}`;
    }
    return html`
      <div class="head"><h1>Jobs</h1>${this.summary(data)}
        <div class="buttons"><a class="button" href="/compare?q=${encodeURIComponent(q)}" ?hidden=${data.total < 2}>${icon("compare")}Compare all</a></div></div>
      <div class="bar jobs-bar">
        <ip-search .value=${q} .error=${data.queryError} @query=${(event) => this.set({ q: event.detail })}></ip-search>
        <button type="button" @click=${() => this.pickColumns()}>${icon("columns")}Columns</button>
        ${menu(html`Group: ${groupWords(this.group)}${icon("down")}`, this.groupItems(), { name: "Group", key: this })}
        ${viewMenu(this)}
      </div>
      ${
        data.added
          ? html`<p class="new-jobs"><button type="button" @click=${() => {
              this.isHeld = false;
              this.reload();
            }}>
        ${data.added} new ${data.added === 1 ? "job" : "jobs"}</button></p>`
          : nothing
      }
      <div @pointerenter=${() => {
        this.isHeld = true;
      }} @pointerleave=${() => {
        this.isHeld = false;
      }}>
        ${this.group && data.grouped ? groupTable(data.grouped, this) : data.jobs.length ? jobTable(data, this) : this.noMatch(data)}
      </div>
      ${this.group ? nothing : this.pages(data)}
      ${actionBar(this)}`;
  }

  groupItems() {
    const settings = (this.data?.columns ?? [])
      .filter((one) => one.kind === "setting" && one.key !== "seed")
      .map((one) => one.key);
    return ["", "seed", ...settings].map((group) => ({
      words: groupWords(group),
      act: () => this.set({ group }),
      isChecked: group === this.group,
    }));
  }

  summary({ counts }) {
    /** @type {[string, string[]][]} */
    const groups = [
      ["running", STATES.filter(phaseOf)],
      ["queued", ["queued", "retry_wait"]],
      ["failed", ["failed"]],
    ];
    const parts = groups.map(([words, states]) => ({
      words,
      states,
      count: states.reduce((sum, state) => sum + (counts.get(state) ?? 0), 0),
    }));
    return html`<p class="summary soft">${parts
      .filter(({ count }) => count)
      .map(
        ({ words, states, count }) => html`
      <a href="/jobs?q=state:${states.join(",")}">${count.toLocaleString("en")} ${words}</a>`,
      )}</p>`;
  }

  noMatch(data) {
    if (data.queryError) return nothing;
    return empty({
      title: "No job matches",
      text: html`<code>${this.q}</code>`,
      action: { words: "Clear the search", act: () => this.set({ q: null }) },
    });
  }

  pages({ total, jobs }) {
    if (!jobs.length || total === null) return nothing;
    const first = (this.page - 1) * PAGE;
    const to = (page) => () => {
      updateQuery({ page: page > 1 ? page : null }, { push: true });
      scrollTo(0, 0);
    };
    return html`<nav class="paging" aria-label="Pages of the list">
      <span class="soft">${(first + 1).toLocaleString("en")}–${(first + jobs.length).toLocaleString("en")} of ${total.toLocaleString("en")}</span>
      ${
        total > PAGE
          ? html`<button type="button" ?disabled=${first === 0} @click=${to(this.page - 1)}>Previous</button>
      <button type="button" ?disabled=${first + jobs.length >= total} @click=${to(this.page + 1)}>Next</button>`
          : nothing
      }
    </nav>`;
  }
}
customElements.define("ip-jobs", JobsView);
