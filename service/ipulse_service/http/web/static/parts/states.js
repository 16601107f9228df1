// The states of a view without data: loading, empty, an error.
import { html, nothing } from "../vendor.js";
import { copyButton } from "./copy.js";
import { said } from "./said.js";

/** Grey bars of about the size of the view. */
export function skeleton(rows = 6) {
  return html`<div class="skeleton" role="status" aria-label="Loading">
    ${Array.from({ length: rows }, () => html`<div class="skeleton-row"></div>`)}
  </div>`;
}

/**
 * @param {object} parts
 * @param {string} parts.title
 * @param {unknown} [parts.text]
 * @param {{words: string, href?: string, act?: () => void}} [parts.action]
 * @param {string} [parts.command] a command to copy
 */
export function empty({ title, text, action, command }) {
  return html`<section class="empty">
    <h2>${title}</h2>
    ${text ? html`<p class="soft">${typeof text === "string" ? said(text) : text}</p>` : nothing}
    ${
      action
        ? html`<p>${
            action.href
              ? html`<a class="button primary" href=${action.href}>${action.words}</a>`
              : html`<button type="button" class="primary" @click=${action.act}>${action.words}</button>`
          }</p>`
        : nothing
    }
    ${command ? html`<p class="command"><code>${command}</code>${copyButton(command)}</p>` : nothing}
  </section>`;
}

const TITLES = { 403: "Not allowed", 404: "Not found", 410: "Deleted" };

/** The problem, its places in the input, what to do. @param {any} error @param {(() => void) | null} retry */
export function problem(error, retry = null) {
  const title =
    TITLES[error.status] ?? (error.name === "Error" || error.status ? "This did not work" : "Something went wrong");
  const gone = error.status === 404 || error.status === 410;
  return html`<section class="problem" role="alert">
    <h2>${title}</h2>
    <p>${said(error.message)}</p>
    ${
      error.errors?.length
        ? html`<ul>${error.errors.map(
            (one) => html`<li>
      ${one.pointer ? html`<code>${one.pointer}</code> ` : nothing}${said(one.detail)}</li>`,
          )}</ul>`
        : nothing
    }
    ${error.hint ? html`<p>${said(error.hint)}</p>` : nothing}
    ${gone ? html`<p><a href="/jobs">All jobs</a></p>` : nothing}
    ${retry && !gone ? html`<p><button type="button" @click=${retry}>Retry</button></p>` : nothing}
    ${error.requestId ? html`<p class="soft small">request ${error.requestId}</p>` : nothing}
  </section>`;
}
