// Copies text, also where the clipboard interface is missing (HTTP from another machine).
import { html } from "../vendor.js";
import { icon } from "./icon.js";
import { toast } from "./toast.js";

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
    field.className = "visually-hidden";
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  toast("Copied");
}

/** A small button that copies a text. @param {string} text */
export function copyButton(text, words = "Copy") {
  return html`<button type="button" class="ghost icon" title=${words} aria-label=${words} @click=${() => copy(text)}>${icon("copy")}</button>`;
}
