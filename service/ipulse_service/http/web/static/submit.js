// Submits a job from a spec that is typed, opened from a file, or copied from another job.
import { complaint, element } from "./element.js";
import { get, post } from "./service.js";

let draft = null; // the text that is not submitted yet, and the job that it was copied from; kept when the view changes

export async function submit(main, parameters, signal) {
  const from = parameters.get("from");
  const text = element("textarea", { id: "spec", rows: 24, spellcheck: "false", autocomplete: "off" });
  text.value = draft?.from === from ? draft.text : JSON.stringify(await original(from, signal), null, 2);
  const answer = element("div", { role: "status" });
  const limit = (name, label, attributes) => element("label", {}, label, element("input", { name, type: "number", ...attributes }));
  const scheduling = element("details", {}, element("summary", {}, "Priority and deadlines"),
    element("div.filters", {}, limit("priority", "priority", { min: -100, max: 100 }),
      ...["queue", "run", "total"].map((part) => limit(`${part}_seconds`, `maximum ${part} time (s)`, { min: 1 }))));
  const open = element("input", { type: "file", accept: ".json,application/json", "aria-label": "Open a JSON file",
    onchange: async (event) => {
      text.value = await event.target.files[0].text();
      keep();
    } });
  const attempt = async (act) => {
    answer.replaceChildren();
    try {
      JSON.parse(text.value); // the browser reports line and column; the service checks the rest
    } catch (error) {
      answer.replaceChildren(complaint(error));
      return;
    }
    try {
      await act();
    } catch (error) {
      answer.replaceChildren(complaint(error));
    }
  };
  const check = () => attempt(async () => {
    await post("/v1/jobs:validate", text.value);
    answer.replaceChildren(element("p.note", {}, "This spec is valid."));
  });
  const form = element("form.card", {
    onsubmit: (event) => {
      event.preventDefault();
      const query = new URLSearchParams([...new FormData(form)].filter(([name, value]) => name && value));
      attempt(async () => {
        const job = await post(`/v1/jobs?${query}`, text.value, { "idempotency-key": key });
        draft = null;
        location.hash = `#/jobs/${job.id}`;
      });
    },
  },
  element("label", { for: "spec" }, "Spec, as JSON"), text,
  element("p.soft", {}, "To submit a YAML file, run ", element("code", {}, "ipulse submit FILE"), ". ", open),
  scheduling,
  element("div.buttons", {}, element("button", { type: "submit" }, "Submit"),
    element("button.quiet", { type: "button", onclick: check }, "Check only")), answer);
  // One idempotency key for each text: pressing twice, or again after a lost response, creates one job.
  let key = newKey();
  const keep = () => {
    key = newKey();
    draft = { from, text: text.value };
  };
  form.addEventListener("input", keep);
  main.replaceChildren(element("h1", {}, "New job"), form);
}

const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** The spec of another job, or the example of the OpenAPI document. */
async function original(from, signal) {
  if (from) return (await get(`/v1/jobs/${from}`, signal)).spec;
  const { components } = await get("/openapi.json", signal);
  return components.schemas.ExperimentSpec.examples[0];
}
