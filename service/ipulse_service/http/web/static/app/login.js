// The sign-in: by the one-time code of a link, else by a token.
import { LitElement, html } from "../vendor.js";
import { navigate } from "./router.js";
import { signIn, tokenForm } from "./session.js";

class Login extends LitElement {
  static properties = { route: { attribute: false }, why: { state: true }, isTrading: { state: true } };

  constructor() {
    super();
    this.why = "";
    this.isTrading = false;
    this.onHash = () => this.trade();
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    document.title = "Sign in · IPUlse";
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
      await signIn({ code });
      this.leave();
    } catch (error) {
      this.why =
        error.status === 401
          ? "This link has been used or is older than ten minutes. `ipulse open` makes a new one."
          : error.message;
      this.isTrading = false;
    }
  }

  leave() {
    const to = new URLSearchParams(location.search).get("to") ?? "/jobs";
    const target = new URL(to, location.origin);
    navigate(target.origin === location.origin && /^\/(?!\/)/.test(to) ? to : "/jobs", { replace: true });
  }

  render() {
    return html`<div class="login">
      <p class="brand"><img src="/web/icon.svg" alt="" width="32" height="32">IPUlse</p>
      <div class="card">${this.isTrading ? html`<p role="status">Signing in …</p>` : tokenForm(() => this.leave(), this.why)}</div>
    </div>`;
  }
}
customElements.define("ip-login", Login);
