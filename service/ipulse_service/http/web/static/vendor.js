// The one place that names where Lit is; other bundles are imported where they are used.
import { html as plain } from "../vendor/bundles/lit.js";
import { prefixed } from "./lib/address.js";

export { LitElement, css, ifDefined, live, nothing, ref, render, repeat, svg } from "../vendor/bundles/lit.js";
export const html = prefixed(plain);
