// The base of all views: loads data, and shows each state of loading in the same way.
import { LitElement, html, nothing } from "../vendor.js";
import { problem, skeleton } from "../parts/states.js";

const SKELETON_AFTER = 150; // ms; a fast answer shows no skeleton

/** A view of the page; see `load`, `view` and `heading`. */
export class View extends LitElement {
  static properties = {
    route: { attribute: false },
    data: { state: true },
    error: { state: true },
    isSlow: { state: true },
  };
  /** Milliseconds between quiet reloads while the page is visible; 0: none. */
  static poll = 0;
  /** The same while the page is hidden, so that the title of the tab keeps up; 0: none. */
  static hiddenPoll = 0;

  constructor() {
    super();
    /** @type {import("./router.js").Route} */
    this.route = undefined;
    this.data = undefined;
    this.error = null;
    this.isSlow = false;
    this.leaving = new AbortController();
    this.loading = null;
    this.key = undefined;
  }

  /** Aborted when the view goes. */
  get signal() {
    return this.leaving.signal;
  }

  /** Returns the data of the view. @param {import("./router.js").Route} _route @param {AbortSignal} _signal */
  async load(_route, _signal) {
    return {};
  }

  /** The template of the view. @param {any} _data @returns {unknown} */
  view(_data) {
    return nothing;
  }

  /** The title of the tab, before " · IPUlse". @param {any} _data @returns {string} */
  heading(_data) {
    return this.route.entry.title ?? "";
  }

  /** What decides whether a change of the address loads the data again. */
  loadKey(route) {
    return route.path;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.signal.aborted) this.leaving = new AbortController();
    const { poll, hiddenPoll } = /** @type {typeof View} */ (this.constructor);
    if (poll) this.timer = setInterval(() => document.hidden || this.loading || this.reload(), poll);
    if (hiddenPoll) this.hiddenTimer = setInterval(() => document.hidden && !this.loading && this.reload(), hiddenPoll);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
    clearInterval(this.hiddenTimer);
    this.leaving.abort();
    this.key = undefined;
  }

  willUpdate(changed) {
    if (!changed.has("route") || !this.route) return;
    const key = this.loadKey(this.route);
    if (key === this.key) return;
    this.key = key;
    this.renew();
  }

  /** Loads again after the address has changed; keeps what is shown until the answer. */
  async renew() {
    const slow = setTimeout(() => {
      this.isSlow = true;
    }, SKELETON_AFTER);
    await this.reload();
    clearTimeout(slow);
    this.isSlow = false;
  }

  /** Loads again quietly. */
  async reload() {
    this.loading?.abort();
    const mine = (this.loading = new AbortController());
    const signal = AbortSignal.any([mine.signal, this.signal]);
    try {
      const data = await this.load(this.route, signal);
      if (signal.aborted) return;
      this.data = data;
      this.error = null;
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
    } finally {
      if (this.loading === mine) this.loading = null;
    }
  }

  updated() {
    const words = this.data === undefined ? this.route?.entry.title : this.heading(this.data);
    document.title = words ? `${words} · IPUlse` : "IPUlse";
  }

  render() {
    if (this.error && (this.data === undefined || this.error.isFinal)) return this.failure(this.error);
    if (this.data === undefined) return this.isSlow ? html`${this.hiddenHeading}${this.waiting()}` : nothing;
    return html`${this.error ? this.stale(this.error) : nothing}${this.view(this.data)}`;
  }

  /** The heading of a view that shows none of its own yet. */
  get hiddenHeading() {
    return html`<h1 class="visually-hidden">${this.route?.entry.title ?? "IPUlse"}</h1>`;
  }

  /** Shown while the first answer takes long. */
  waiting() {
    return skeleton();
  }

  /** @param {Error} error */
  failure(error) {
    return html`${this.hiddenHeading}${problem(error, () => this.renew())}`;
  }

  /** Shown above data that could not be loaded again. */
  stale(error) {
    return html`<p class="stale" role="status">Reconnecting; the data below may be old. ${error.message}</p>`;
  }
}
