// The one place that names where Lit is; other bundles are imported where they are used.
export * from "../vendor/bundles/lit.js";
