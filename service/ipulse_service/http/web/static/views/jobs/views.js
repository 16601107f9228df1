// Named views of the list: search, columns, order and groups.
import { savedViews } from "../../parts/saved_views.js";

const PARTS = ["q", "columns", "sort", "group"]; // of the address

export function viewMenu(view) {
  const parts = { q: view.q, columns: view.columns.join(","), sort: view.sort, group: view.group };
  return savedViews(view, {
    kept: "ipulse-views",
    present: new URLSearchParams(PARTS.filter((name) => parts[name]).map((name) => [name, parts[name]])).toString(),
    address: (query) => `/jobs?${query}`,
    hint: "Search, columns, order and groups",
  });
}
