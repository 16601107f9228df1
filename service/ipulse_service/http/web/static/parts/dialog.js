// Questions in a native dialog.
import { html, nothing, render } from "../vendor.js";

/**
 * Shows content in a modal dialog until `close(result)`; resolves with the result, or undefined after Escape.
 * @param {(close: (result?: any) => void) => unknown} content @param {{label: string, isWide?: boolean}} options
 * @returns {Promise<any>}
 */
export function openDialog(content, { label, isWide = false }) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    dialog.className = isWide ? "wide" : "";
    dialog.setAttribute("aria-label", label);
    let result;
    const close = (value) => {
      result = value;
      dialog.close();
    };
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    dialog.addEventListener("click", (event) => event.target === dialog && close());
    render(content(close), dialog);
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Asks before something happens. @returns {Promise<boolean>}
 * @param {{title: string, text?: unknown, confirm?: string, danger?: boolean}} options
 */
export async function confirmDialog({ title, text, confirm = "OK", danger = false }) {
  const answer = await openDialog(
    (close) => html`
    <h2>${title}</h2>
    ${text ? html`<div class="dialog-text">${text}</div>` : nothing}
    <div class="buttons end">
      <button type="button" @click=${() => close(false)}>Keep</button>
      <button type="button" class=${danger ? "danger" : "primary"} autofocus @click=${() => close(true)}>${confirm}</button>
    </div>`,
    { label: title },
  );
  return answer === true;
}

/** Asks for one line of text. @returns {Promise<string | undefined>} */
export function askDialog({ title, label, value = "", confirm = "OK", hint = "" }) {
  return openDialog(
    (close) => html`
    <form @submit=${(event) => {
      event.preventDefault();
      close(event.target.elements.answer.value.trim());
    }}>
      <h2>${title}</h2>
      <label class="field"><span>${label}</span><input name="answer" autocomplete="off" required autofocus .value=${value}></label>
      ${hint ? html`<p class="soft small">${hint}</p>` : nothing}
      <div class="buttons end">
        <button type="button" @click=${() => close()}>Cancel</button>
        <button type="submit" class="primary">${confirm}</button>
      </div>
    </form>`,
    { label: title },
  );
}
