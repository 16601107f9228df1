export { LitElement, css, html, nothing, render, svg } from "lit";
export { ifDefined } from "lit/directives/if-defined.js";
export { live } from "lit/directives/live.js";
export { ref } from "lit/directives/ref.js";
export { repeat } from "lit/directives/repeat.js";
