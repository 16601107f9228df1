// Short messages at the edge of the page, read out by screen readers.
import { LitElement, html, nothing, repeat } from "../vendor.js";

const STAYS = 4000; // ms
const STAYS_WITH_UNDO = 10_000;

class Toasts extends LitElement {
  static properties = { messages: { state: true } };

  constructor() {
    super();
    /** @type {{id: number, text: string, isBad: boolean, undo: null | (() => void)}[]} */
    this.messages = [];
    this.count = 0;
  }

  createRenderRoot() {
    return this;
  }

  add(text, { undo = null, isBad = false } = {}) {
    const id = ++this.count;
    this.messages = [...this.messages.slice(-2), { id, text, isBad, undo }];
    setTimeout(() => this.remove_(id), undo ? STAYS_WITH_UNDO : STAYS);
  }

  remove_(id) {
    this.messages = this.messages.filter((one) => one.id !== id);
  }

  render() {
    return html`<div class="toasts" role="status">${repeat(
      this.messages,
      (one) => one.id,
      (one) => html`
      <p class="toast ${one.isBad ? "bad" : ""}">${one.text}
        ${
          one.undo
            ? html`<button type="button" class="ghost" @click=${() => {
                this.remove_(one.id);
                one.undo();
              }}>Undo</button>`
            : nothing
        }
      </p>`,
    )}</div>`;
  }
}
customElements.define("ip-toasts", Toasts);

let place = null;

/** @param {string} text @param {{undo?: () => void, isBad?: boolean}} [options] */
export function toast(text, options) {
  if (!place) document.body.append((place = document.createElement("ip-toasts")));
  place.add(text, options);
}
