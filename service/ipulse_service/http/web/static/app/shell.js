// The frame of the page: navigation above (below on a phone), and the present view.
import { LitElement, html, nothing } from "../vendor.js";
import { icon } from "../parts/icon.js";
import { menu } from "../parts/menu.js";
import { problem } from "../parts/states.js";
import { api } from "../lib/api.js";
import { quoted } from "../lib/query.js";
import { themeChosen } from "../lib/theme.js";
import { listenToKeys, showKeys } from "./keys.js";
import { onRoute } from "./router.js";
import { forget, maySubmit, who } from "./session.js";

const LINKS = [
  { nav: "jobs", href: "/jobs", words: "Jobs", icon: "jobs" },
  { nav: "sweeps", href: "/sweeps", words: "Sweeps", icon: "sweeps" },
  { nav: "datasets", href: "/datasets", words: "Data sets", icon: "datasets" },
  { nav: "devices", href: "/devices", words: "Devices", icon: "devices" },
];
const THEMES = [
  ["auto", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

class Shell extends LitElement {
  static properties = {
    route: { state: true },
    failed: { state: true },
    theme: { state: true },
    person: { state: true },
  };

  constructor() {
    super();
    /** @type {import("./router.js").Route | null} */
    this.route = null;
    this.failed = null;
    this.person = null;
    this.theme = document.documentElement.dataset.theme ?? "auto";
    this.shown = null;
    onRoute((route, how) => this.go(route, how));
    listenToKeys();
    addEventListener("signed-in", () => this.greet());
  }

  createRenderRoot() {
    return this;
  }

  async greet() {
    this.person = await who().catch(() => null);
  }

  /** Shows the view of a route; a view that is shown already gets the new route. */
  async go(route, how) {
    const { tag, load } = route.entry;
    if (route.entry.tag !== "ip-login" && !this.person) this.greet();
    this.asked = route;
    const failed = await load().then(
      () => null,
      (error) => error,
    );
    if (this.asked !== route) return; // another view was asked for meanwhile
    this.failed = failed;
    this.route = route;
    if (this.shown?.localName !== tag || (how === "push" && this.shown.route?.path !== route.path)) {
      const isNew = this.shown?.localName !== tag;
      if (isNew) this.shown = document.createElement(tag);
      await this.updateComplete;
      if (this.asked !== route) return;
      if (how === "push") scrollTo(0, 0);
      if (how !== "replace") this.querySelector("main")?.focus({ preventScroll: true });
    }
    /** @type {any} */ (this.shown).route = route;
    this.requestUpdate();
    if (how === "pop") setTimeout(() => scrollTo(0, history.state?.y ?? 0), 60);
  }

  setTheme(theme) {
    this.theme = theme;
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      if (theme === "auto") localStorage.removeItem("ipulse-theme");
      else localStorage.setItem("ipulse-theme", theme);
    } catch {
      /* the theme holds for this tab */
    }
    themeChosen();
  }

  async signOut(path = "/v1/session") {
    await api.delete(path).catch(() => null);
    forget();
  }

  render() {
    const nav = this.route?.entry.nav;
    if (this.route?.entry.tag === "ip-login") return html`<main id="main" tabindex="-1">${this.shown}</main>`;
    const link = (one, extra = "") =>
      html`<a class=${extra} href=${one.href} aria-current=${nav === one.nav ? "page" : nothing}>${icon(one.icon)}<span>${one.words}</span></a>`;
    return html`
      <a class="skip" href="#main" @click=${(event) => {
        event.preventDefault();
        this.querySelector("main").focus();
      }}>Skip to content</a>
      <header class="top">
        <a class="brand" href="/jobs"><img src="/web/icon.svg" alt="" width="22" height="22">IPUlse</a>
        <nav class="pages" aria-label="Pages">
          ${LINKS.map((one) => link(one))}
          ${maySubmit() ? link({ nav: "new", href: "/new", words: "New job", icon: "plus" }, "new") : nothing}
        </nav>
        <div class="tools">
          ${menu(
            icon("help"),
            [
              { words: "Keyboard shortcuts", act: showKeys },
              { words: "HTTP API", href: "/docs" },
              { words: `IPUlse ${this.person?.version}`, isText: true, isHidden: !this.person },
            ],
            { name: "Help", kind: "ghost icon", key: this },
          )}
          ${menu(
            icon("user"),
            [
              ...THEMES.map(([theme, words]) => ({
                words: `Theme: ${words.toLowerCase()}`,
                act: () => this.setTheme(theme),
                isChecked: theme === this.theme,
              })),
              {
                words: "My jobs",
                href: `/jobs?q=${encodeURIComponent(`owner:${quoted(this.person?.name ?? "")}`)}`,
                isHidden: !this.person,
              },
              { words: "Projects", href: "/settings/projects" },
              { words: "Usage", href: "/settings/usage" },
              { words: "People", href: "/settings/people", isHidden: this.person?.role !== "owner" },
              { words: "Sessions", href: "/settings/sessions" },
              { words: "Tokens", href: "/settings/tokens", isHidden: this.person?.role === "reader" },
              { words: "Webhooks", href: "/settings/webhooks", isHidden: this.person?.role !== "owner" },
              { words: `Signed in as ${this.person?.name}`, isText: true, isHidden: !this.person },
              { words: "Sign out", act: () => this.signOut() },
              { words: "Sign out everywhere", act: () => this.signOut("/v1/sessions") },
            ],
            { name: "Account", kind: "ghost icon", key: this },
          )}
        </div>
      </header>
      <main id="main" tabindex="-1">${this.failed ? problem(this.failed, () => location.reload()) : this.shown}</main>`;
  }
}
customElements.define("ip-shell", Shell);
