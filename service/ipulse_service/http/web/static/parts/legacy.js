// A view that is not written on the frame yet: a function that fills an element.
import { problem } from "./states.js";
import { render } from "../vendor.js";

/** Returns the class of an element that calls `fill(element, route, signal)` for each address. */
export function filledBy(fill) {
  return class extends HTMLElement {
    set route(route) {
      const address = route.path + route.query;
      if (address === this.address) return;
      this.address = address;
      this.leaving?.abort();
      this.leaving = new AbortController();
      const { signal } = this.leaving;
      fill(this, route, signal).catch((error) => signal.aborted || render(problem(error, () => location.reload()), this.appendChild(document.createElement("div"))));
    }

    get route() { return { path: location.pathname }; }

    disconnectedCallback() {
      this.leaving?.abort();
      this.address = undefined;
    }
  };
}
