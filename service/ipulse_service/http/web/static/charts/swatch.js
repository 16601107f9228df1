// A short piece of a line, as a legend shows it: in its colour and with its dashes.
import { html, nothing } from "../vendor.js";

/** @param {{color?: string, dash?: number[], faint?: boolean} | undefined} line undefined: none is drawn */
export function swatch(line) {
  if (!line?.color) return html`<svg class="swatch" width="22" height="8" aria-hidden="true"></svg>`;
  const stroke = line.color.startsWith("--") ? `var(${line.color})` : line.color;
  return html`<svg class="swatch" width="22" height="8" aria-hidden="true" .style=${`color: ${stroke}; opacity: ${line.faint ? 0.45 : 1}`}>
    <line x1="1" x2="21" y1="4" y2="4" stroke="currentColor" stroke-width="3" stroke-dasharray=${line.dash?.join(" ") ?? nothing}></line></svg>`;
}
