// Shown for an address that no view has.
import { html } from "../vendor.js";
import { View } from "./view.js";
import { empty } from "../parts/states.js";

class GoneView extends View {
  view() {
    return html`<h1 class="visually-hidden">Not found</h1>${empty({
      title: "There is no such page",
      text: html`<code>${this.route.path}</code> leads nowhere. The address may be old or mistyped.`,
      action: { words: "All jobs", href: "/jobs" },
    })}`;
  }
}
customElements.define("ip-gone", GoneView);
