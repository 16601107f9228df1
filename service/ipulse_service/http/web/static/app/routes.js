// The views of the page. A module is loaded when its view is first shown.

/**
 * @typedef {object} RouteEntry
 * @property {string} pattern
 * @property {string} tag the custom element that shows the view
 * @property {() => Promise<unknown>} load
 * @property {string} [nav] the entry of the navigation that is marked
 * @property {string} [title]
 */

/** @type {RouteEntry[]} the last one is shown for all other addresses */
export const routes = [
  { pattern: "/", tag: "ip-jobs", nav: "jobs", title: "Jobs", load: () => import("../views/jobs/jobs.js") },
  { pattern: "/jobs", tag: "ip-jobs", nav: "jobs", title: "Jobs", load: () => import("../views/jobs/jobs.js") },
  { pattern: "/jobs/:id/:tab?", tag: "ip-job", nav: "jobs", title: "Job", load: () => import("../views/job/job.js") },
  { pattern: "/new", tag: "ip-new", nav: "new", title: "New job", load: () => import("../views/new/new.js") },
  {
    pattern: "/compare",
    tag: "ip-compare",
    nav: "jobs",
    title: "Compare",
    load: () => import("../views/compare/compare.js"),
  },
  {
    pattern: "/profiles/diff",
    tag: "ip-profile-diff",
    nav: "jobs",
    title: "Compare profiles",
    load: () => import("../views/profiles/diff.js"),
  },
  {
    pattern: "/sweeps",
    tag: "ip-sweeps",
    nav: "sweeps",
    title: "Sweeps",
    load: () => import("../views/sweeps/list.js"),
  },
  {
    pattern: "/sweeps/:id",
    tag: "ip-sweep",
    nav: "sweeps",
    title: "Sweep",
    load: () => import("../views/sweeps/sweep.js"),
  },
  {
    pattern: "/datasets",
    tag: "ip-datasets",
    nav: "datasets",
    title: "Data sets",
    load: () => import("../views/datasets/list.js"),
  },
  {
    pattern: "/datasets/:name/:tab?",
    tag: "ip-dataset",
    nav: "datasets",
    title: "Data set",
    load: () => import("../views/datasets/dataset.js"),
  },
  { pattern: "/ops", tag: "ip-ops", nav: "datasets", title: "Custom ops", load: () => import("../views/ops/ops.js") },
  {
    pattern: "/devices",
    tag: "ip-devices",
    nav: "devices",
    title: "Devices",
    load: () => import("../views/devices/devices.js"),
  },
  { pattern: "/settings/tokens", tag: "ip-tokens", title: "Tokens", load: () => import("../views/tokens/tokens.js") },
  {
    pattern: "/settings/webhooks",
    tag: "ip-webhooks",
    title: "Webhooks",
    load: () => import("../views/webhooks/webhooks.js"),
  },
  { pattern: "/device", tag: "ip-device", title: "Sign in a program", load: () => import("../views/device/device.js") },
  { pattern: "/settings/usage", tag: "ip-usage", title: "Usage", load: () => import("../views/people/usage.js") },
  { pattern: "/settings/people", tag: "ip-people", title: "People", load: () => import("../views/people/people.js") },
  {
    pattern: "/settings/projects/:name?",
    tag: "ip-projects",
    title: "Projects",
    load: () => import("../views/people/projects.js"),
  },
  {
    pattern: "/settings/sessions",
    tag: "ip-sessions",
    title: "Sessions",
    load: () => import("../views/people/sessions.js"),
  },
  { pattern: "/login", tag: "ip-login", title: "Sign in", load: () => import("./login.js") },
  { pattern: "/.*", tag: "ip-gone", title: "Not found", load: () => import("./gone.js") },
];
