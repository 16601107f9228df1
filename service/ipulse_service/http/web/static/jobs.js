// The list of jobs, newest first, updated while the page is visible.
import { complaint, element, renewed, table } from "./element.js";
import { accuracy, number } from "./figures.js";
import { get } from "./service.js";
import { STATES, chip, moment, plain, progress, took } from "./words.js";

const EVERY = 2000; // ms between two requests
const DEVICES = ["cpu", "emulator", "ipu"];

/** `parameters` come from the address: state, device, label, page_token. */
export async function jobs(main, parameters, signal) {
  let list = element("div");
  const where = element("div");
  main.replaceChildren(element("h1", {}, "Jobs"), filters(parameters), where, list);
  const query = new URLSearchParams(parameters);
  query.set("page_size", "50");
  let shown = "";
  while (!signal.aborted) {
    if (!document.hidden) {
      try {
        const page = await get(`/v1/jobs?${query}`, signal);
        const text = JSON.stringify(page);
        // Redrawn only after a change, which keeps the selection and the focus.
        if (text !== shown || page.jobs.some((job) => job.started_at && !job.finished_at)) {
          shown = text;
          list = draw(list, page, parameters);
        }
        where.replaceChildren();
      } catch (error) {
        if (signal.aborted) return;
        where.replaceChildren(complaint(error));
        if (error.isFinal) return;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY));
  }
}

function draw(list, page, parameters) {
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  const rows = page.jobs.map((job) => [
    element("a", { href: `#/jobs/${job.id}` }, job.name || job.id),
    [chip(job), " ", job.reason && job.reason !== "completed" ? element("span.soft", {}, plain(job.reason)) : ""],
    progress(job),
    shown(accuracy(job)),
    job.device,
    moment(job.created_at),
    took(job),
  ].map((cell) => (Array.isArray(cell) ? element("span", {}, cell) : cell)));
  const columns = ["Name", "State", "Progress", "Accuracy", "Device", "Submitted", "Duration"];
  const drawn = renewed(list, element("div", {}, rows.length ? table("Jobs", columns, rows) : nothing(parameters), pages(page, parameters)));
  if (focused && !drawn.contains(document.activeElement)) drawn.querySelector(`a[href="${focused}"]`)?.focus();
  return drawn;
}

function shown(result) {
  if (!result) return "";
  const [share, split, epoch] = result;
  return [`${share} `, element("span.soft", {}, epoch === null ? split : `${split}, epoch ${number(epoch)}`)];
}

function nothing(parameters) {
  if ([...parameters.keys()].length) return element("p.card", {}, "No job matches the filters. ", element("a", { href: "#/" }, "Show all"));
  return element("p.card", {}, "There are no jobs yet. ", element("a", { href: "#/submit" }, "Submit one"), ", or use a shell: ",
    element("code", {}, "ipulse submit examples/digits.yaml"));
}

function pages(page, parameters) {
  const links = [];
  if (parameters.has("page_token")) {
    const first = new URLSearchParams(parameters);
    first.delete("page_token");
    links.push(element("a", { href: `#/?${first}` }, "Newest"));
  }
  if (page.next_page_token) {
    const next = new URLSearchParams(parameters);
    next.set("page_token", page.next_page_token);
    links.push(element("a", { href: `#/?${next}` }, "Older"));
  }
  return element("nav.pages", { "aria-label": "Pages of jobs" }, links);
}

function filters(parameters) {
  const choose = (name, values) =>
    element("label", {}, plain(name), element("select", { name }, element("option", { value: "" }, "any"),
      values.map((value) => element("option", { value, selected: parameters.get(name) === value }, plain(value)))));
  const form = element("form.filters", {}, choose("state", STATES), choose("device", DEVICES),
    element("label", {}, "label", element("input", { name: "label", placeholder: "NAME=VALUE", title: "NAME=VALUE", pattern: "[^=]+=.*", value: parameters.get("label") ?? "" })));
  const go = (event) => {
    event.preventDefault();
    if (!form.reportValidity()) return;
    const chosen = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    location.hash = `#/?${chosen}`;
  };
  form.addEventListener("change", go);
  form.addEventListener("submit", go);
  return form;
}
