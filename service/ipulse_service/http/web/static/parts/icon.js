// Line icons of 16 px in the colour of their text.
import { html, svg } from "../vendor.js";

const PATHS = {
  jobs: svg`<path d="M2.5 4h11M2.5 8h11M2.5 12h7"/>`,
  sweeps: svg`<circle cx="3.5" cy="12" r="1"/><circle cx="7" cy="5" r="1"/><circle cx="9.5" cy="9.5" r="1"/><circle cx="13" cy="3.5" r="1"/>`,
  datasets: svg`<ellipse cx="8" cy="4" rx="5" ry="2"/><path d="M3 4v8c0 1.1 2.2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2"/>`,
  devices: svg`<rect x="4" y="4" width="8" height="8" rx="1"/><path d="M6.5 1.5V4M9.5 1.5V4M6.5 12v2.500M9.5 12v2.500M1.500 6.5H4M1.500 9.500H4M12 6.500h2.500M12 9.500h2.500"/>`,
  plus: svg`<path d="M8 3v10M3 8h10"/>`,
  search: svg`<circle cx="7" cy="7" r="4.500"/><path d="M10.500 10.500 14 14"/>`,
  copy: svg`<rect x="5.500" y="5.500" width="8" height="8" rx="1.500"/><path d="M10.500 5.500v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2"/>`,
  close: svg`<path d="m4 4 8 8M12 4l-8 8"/>`,
  user: svg`<circle cx="8" cy="5.500" r="2.500"/><path d="M3 13.500c.5-2.500 2.500-4 5-4s4.500 1.500 5 4"/>`,
  help: svg`<circle cx="8" cy="8" r="6"/><path d="M6.300 6.300a1.800 1.800 0 1 1 2.500 1.700c-.6.300-.8.600-.8 1.200M8 11.300v.1"/>`,
  up: svg`<path d="m4 9.500 4-4 4 4"/>`,
  down: svg`<path d="m4 6.500 4 4 4-4"/>`,
  right: svg`<path d="m6 4 4 4-4 4"/>`,
  check: svg`<path d="m3.500 8.500 3 3 6-7"/>`,
  cross: svg`<path d="m4.500 4.500 7 7M11.500 4.500l-7 7"/>`,
  dot: svg`<circle cx="8" cy="8" r="3" fill="currentColor"/>`,
  ring: svg`<circle cx="8" cy="8" r="4"/>`,
  pause: svg`<path d="M6 4v8M10 4v8"/>`,
  stop: svg`<rect x="4.500" y="4.500" width="7" height="7" rx="1"/>`,
  more: svg`<circle cx="3.500" cy="8" r=".8"/><circle cx="8" cy="8" r=".8"/><circle cx="12.500" cy="8" r=".8"/>`,
  columns: svg`<rect x="2.500" y="3" width="11" height="10" rx="1.500"/><path d="M6.200 3v10M9.800 3v10"/>`,
  compare: svg`<path d="M2.500 12.500c3 0 3-6 6-6s2.500-3 5-3M2.500 8c3.500 0 4 4 7 4h4"/>`,
  warn: svg`<path d="M8 2.500 14 13H2zM8 6.500v3M8 11.200v.1"/>`,
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5"
    stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${PATHS[name]}</svg>`;
}
