// A new job.
import { filledBy } from "../../parts/legacy.js";
import { submit } from "../../submit.js";

customElements.define("ip-new", filledBy((main, route, signal) => submit(main, route.query, signal)));
