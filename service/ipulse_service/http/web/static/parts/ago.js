// A time relative to now, which is renewed while it is shown.
import { LitElement, html } from "../vendor.js";
import { relative } from "../lib/format.js";

const shown = new Set();
setInterval(() => document.hidden || shown.forEach((one) => one.requestUpdate()), 10_000);

class Ago extends LitElement {
  static properties = { at: {} };

  constructor() {
    super();
    this.at = ""; // RFC 3339
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    shown.add(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    shown.delete(this);
  }

  render() {
    const time = new Date(this.at);
    const full = time.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
    return html`<time datetime=${this.at} title=${full}>${relative(time)}</time>`;
  }
}
customElements.define("ip-ago", Ago);

/** @param {string | null | undefined} text RFC 3339 */
export function ago(text) {
  return text ? html`<ip-ago .at=${text}></ip-ago>` : "";
}
