// One job: head, phases, and the tabs.
import { html, nothing } from "../../vendor.js";
import { View } from "../../app/view.js";
import { navigate } from "../../app/router.js";
import { who } from "../../app/session.js";
import { api } from "../../lib/api.js";
import { pathHere } from "../../lib/address.js";
import { fullId } from "../../lib/ids.js";
import { isOver, plain } from "../../lib/format.js";
import { CODE_KINDS } from "../../lib/kinds.js";
import { head } from "./head.js";
import { phaseBar } from "./phases.js";
import { JobStore } from "./store.js";

/** The tabs, their words, and the module that shows each. */
/** @type {[string, string, () => Promise<any>][]} */
const TABS = [
  ["overview", "Overview", () => import("./overview.js")],
  ["metrics", "Metrics", () => import("./metrics.js")],
  ["spikes", "Spikes", () => import("./spikes/spikes.js")],
  ["layers", "Layers", () => import("./layers.js")],
  ["profile", "Profile", () => import("./profile/profile.js")],
  ["log", "Log", () => import("./log.js")],
  ["attempts", "Attempts", () => import("./attempts.js")],
  ["config", "Config", () => import("./config.js")],
  ["files", "Files", () => import("./files.js")],
  ["report", "Report", () => import("./report.js")],
];
const DEFAULT_TAB = "overview";

const moduleOf = (tab) => TABS.find(([name]) => name === tab)[2]();

class JobView extends View {
  static poll = 5000; // renews queue positions and durations
  static hiddenPoll = 20_000; // streams rest while the tab is hidden

  constructor() {
    super();
    /** @type {JobStore | null} */
    this.store = null;
  }

  loadKey(route) {
    return route.params.id;
  }

  async load(route, signal) {
    moduleOf(this.tab).catch(() => {}); // loads together with the job; `updated` shows an error
    const [id] = await Promise.all([this.fullId(route.params.id, signal), who()]);
    const job = await api.get(`/v1/jobs/${id}`, { signal });
    if (this.store?.id !== job.id || (this.store.hasEnded && !isOver(job.state))) this.follow(job.id);
    return job;
  }

  /** The whole id; the address gets it, too. */
  async fullId(text, signal) {
    const id = await fullId(text, signal);
    if (id === text) return id;
    const rest = pathHere(location.pathname).split("/").slice(3).join("/");
    navigate(`/jobs/${id}${rest && `/${rest}`}${location.search}${location.hash}`, { replace: true });
    return id;
  }

  follow(id) {
    this.store?.stop();
    this.store = new JobStore(id);
    this.store.addEventListener("state", () => this.reload());
    this.store.addEventListener("change", () => this.requestUpdate());
    this.store.start();
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.store?.isStopped) this.follow(this.store.id);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.store?.stop();
  }

  /** An ended job changes no more, unless it can be retried. */
  async reload() {
    if (this.data?.id === this.route.params.id && isOver(this.data.state) && this.isSettled) return;
    await super.reload();
    this.isSettled =
      this.data && isOver(this.data.state) && this.data.state !== "failed" && this.data.reason !== "dependency_failed";
  }

  heading(job) {
    return `${job.name || job.id} · ${plain(job.state)}`;
  }

  get tab() {
    const named = this.route?.params.tab ?? DEFAULT_TAB;
    return TABS.some(([name]) => name === named) ? named : DEFAULT_TAB;
  }

  updated() {
    super.updated();
    if (this.data && this.shownTab !== this.tab) {
      this.shownTab = this.tab;
      this.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
      moduleOf(this.tab).catch((error) => {
        this.error = error;
      });
    }
  }

  view(job) {
    const renew = async () => {
      this.isSettled = false;
      await this.reload();
    };
    return html`
      ${head(job, Boolean(this.store?.checkpoint), renew)}
      ${this.store?.broken ? html`<p class="stale" role="status">The connection was lost; reconnecting.</p>` : nothing}
      ${phaseBar(job, this.store, this.tab !== DEFAULT_TAB)}
      <nav class="tabs" aria-label="Parts of the job">
        ${TABS.filter(([name]) => !CODE_KINDS[job.spec?.kind]?.without.includes(name)).map(
          ([name, words]) => html`<a href="/jobs/${job.id}${name === DEFAULT_TAB ? "" : `/${name}`}"
          aria-current=${name === this.tab ? "page" : nothing}>${words}</a>`,
        )}
      </nav>
      ${this.content(job)}`;
  }

  content(job) {
    const { store, route } = this;
    switch (this.tab) {
      case "metrics":
        return html`<ip-job-metrics .job=${job} .store=${store} .route=${route}></ip-job-metrics>`;
      case "spikes":
        return html`<ip-job-spikes .job=${job} .store=${store} .route=${route}></ip-job-spikes>`;
      case "layers":
        return html`<ip-job-layers .job=${job} .store=${store}></ip-job-layers>`;
      case "profile":
        return html`<ip-job-profile .job=${job} .store=${store} .route=${route}></ip-job-profile>`;
      case "log":
        return html`<ip-job-log .job=${job} .route=${route}></ip-job-log>`;
      case "attempts":
        return html`<ip-job-attempts .job=${job}></ip-job-attempts>`;
      case "config":
        return html`<ip-job-config .job=${job} .route=${route}></ip-job-config>`;
      case "files":
        return html`<ip-job-files .job=${job} .store=${store}></ip-job-files>`;
      case "report":
        return html`<ip-job-report .job=${job}></ip-job-report>`;
      default:
        return html`<ip-job-overview .job=${job} .store=${store}></ip-job-overview>`;
    }
  }
}
customElements.define("ip-job", JobView);
