// Shown for an address that no view has.
import { View } from "./view.js";
import { empty } from "../parts/states.js";

class GoneView extends View {
  view() {
    return empty({
      title: "There is no such page", text: "The address may be old or mistyped.",
      action: { words: "All jobs", href: "/jobs" },
    });
  }
}
customElements.define("ip-gone", GoneView);
