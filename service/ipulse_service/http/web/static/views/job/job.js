// One job.
import { job } from "../../job.js";
import { filledBy } from "../../parts/legacy.js";

customElements.define("ip-job", filledBy((main, route, signal) => job(main, route.params.id, signal)));
