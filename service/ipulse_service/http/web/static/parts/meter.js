// A bar that shows a share.
import { html } from "../vendor.js";

/** @param {number} share 0 to 1 @param {string} label */
export function bar(share, label) {
  const percent = Math.round(100 * Math.max(0, Math.min(1, share)));
  return html`<span class="meter" role="progressbar" aria-label=${label} aria-valuenow=${percent} aria-valuemin="0" aria-valuemax="100">
    <span .style=${`width: ${percent}%`}></span></span>`;
}
