// The list of jobs.
import { jobs } from "../../jobs.js";
import { filledBy } from "../../parts/legacy.js";

customElements.define("ip-jobs", filledBy((main, route, signal) => jobs(main, route.query, signal)));
