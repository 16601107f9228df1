// The spec of a job as YAML.
import { updateQuery } from "../../app/router.js";
import { copy } from "../../parts/copy.js";
import { ordered, specSchema, withoutDefaults } from "../../lib/schema.js";
import { Tab, html, nothing } from "./tab.js";

class Config extends Tab {
  async load(_job, signal) {
    const [{ YAML }, schema] = await Promise.all([import("../../../vendor/bundles/editor.js"), specSchema(signal)]);
    return { YAML, schema };
  }

  draw({ YAML, schema }) {
    const { job } = this;
    const isWhole = this.route?.query.get("view") === "all";
    const shown = isWhole ? ordered(job.spec, schema) : withoutDefaults(job.spec, schema);
    const text = YAML.stringify(shown, { lineWidth: 120, flowCollectionPadding: false });
    const choice = (words, whole) => html`<button type="button" aria-pressed=${String(whole === isWhole)} @click=${() => updateQuery({ view: whole ? "all" : null })}>${words}</button>`;
    return html`
      <div class="bar">
        <span class="buttons" role="group" aria-label="Which settings">${choice("Differs from defaults", false)}${choice("All settings", true)}</span>
        <button type="button" @click=${() => copy(text)}>Copy</button>
        <a class="button" href="/new?from=${job.id}">Clone</a>
      </div>
      <pre class="card yaml" tabindex="0" aria-label="Spec">${text.split("\n").map((line) => html`${coloured(line)}\n`)}</pre>
      <p class="soft small">SHA-256 of the spec with all defaults: <code>${job.spec_sha256}</code></p>`;
  }
}

/** A line of YAML with its key in another colour. */
function coloured(line) {
  const match = /^(\s*(?:- )?)([\w.-]+)(:)(.*)$/.exec(line);
  return match ? html`${match[1]}<span class="key">${match[2]}</span>${match[3]}${match[4]}` : line || nothing;
}
customElements.define("ip-job-config", Config);
