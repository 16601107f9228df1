// Messages for people: what is between backticks is code.
import { html } from "../vendor.js";

/** @param {string | null | undefined} text a sentence of the service or of the page */
export function said(text) {
  const sentence = String(text ?? "");
  const parts = (sentence.charAt(0).toUpperCase() + sentence.slice(1)).split("`");
  if (parts.length % 2 === 0) return sentence; // a single backtick is text
  return parts.map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
}
