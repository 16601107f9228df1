// The sign-in: by the one-time code of a link, else by a token.
import { LitElement, html, nothing } from "../vendor.js";
import { api } from "../lib/api.js";
import { navigate } from "./router.js";
import { placeHint, signIn, tokenForm } from "./session.js";

const WHY = {
  state: "This way to sign in was used before, or is older than ten minutes. Begin again.",
  token: "The provider's answer is not valid for this service. Tell its operator.",
  provider: "The provider did not sign you in.",
  unavailable: "The provider does not answer. Tokens still work.",
  disabled: "Your account here is disabled.",
  domain: "Accounts with your e-mail address may not sign in here.",
  unknown: "Nobody here has your account. Tell the administrator this subject for `ipulse user edit NAME --subject`:",
  none: "This service has no provider to sign in with.",
};

class Login extends LitElement {
  static properties = {
    route: { attribute: false },
    why: { state: true },
    isTrading: { state: true },
    isLeaving: { state: true },
    issuer: { state: true },
  };

  constructor() {
    super();
    this.why = "";
    this.isTrading = false;
    this.isLeaving = false;
    this.issuer = null;
    this.onHash = () => this.trade();
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    document.title = "Sign in · IPUlse";
    const query = new URLSearchParams(location.search);
    const why = query.get("why");
    if (why) this.why = (WHY[why] ?? WHY.state) + (query.get("subject") ? ` \`${query.get("subject")}\`` : "");
    api
      .get("/v1/auth", { isTry: true })
      .then(({ issuer }) => {
        this.issuer = issuer;
      })
      .catch(() => {});
    this.trade();
    addEventListener("hashchange", this.onHash);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.onHash);
  }

  /** Uses the code after #, which no server log has seen, and removes it from the address. */
  async trade() {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (!code) return;
    history.replaceState(null, "", location.pathname + location.search);
    this.isTrading = true;
    try {
      this.leave(await signIn({ code }));
    } catch (error) {
      this.why =
        error.status === 401
          ? "This link has been used or is older than ten minutes. `ipulse open` makes a new one."
          : error.message;
      this.isTrading = false;
    }
  }

  /** Opens what was asked for, unless the browser is leaving for the page's own name with a code. */
  leave(code = "") {
    this.isLeaving = Boolean(code);
    if (code) return;
    const to = new URLSearchParams(location.search).get("to") ?? "/jobs";
    const target = new URL(to, location.origin);
    navigate(target.origin === location.origin && /^\/(?!\/)/.test(to) ? to : "/jobs", { replace: true });
  }

  render() {
    return html`<div class="login">
      <p class="brand"><img src="/web/icon.svg" alt="" width="32" height="32">IPUlse</p>
      ${this.issuer ? html`<p><a class="button primary wide" href="/v1/auth/login?to=${encodeURIComponent(new URLSearchParams(location.search).get("to") ?? "/jobs")}">Sign in with ${new URL(this.issuer).host}</a></p>` : nothing}
      <div class="card">${this.isLeaving ? placeHint() : this.isTrading ? html`<p role="status">Signing in …</p>` : tokenForm((code) => this.leave(code), this.why)}</div>
    </div>`;
  }
}
customElements.define("ip-login", Login);
