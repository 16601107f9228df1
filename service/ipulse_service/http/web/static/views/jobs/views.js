// Named views of the list: search, columns, order and groups. They stay in this browser.
import { html } from "../../vendor.js";
import { askDialog } from "../../parts/dialog.js";
import { icon } from "../../parts/icon.js";
import { menu } from "../../parts/menu.js";
import { toast } from "../../parts/toast.js";

const KEPT = "ipulse-views";
const PARTS = ["q", "columns", "sort", "group"]; // of the address

/** @returns {{name: string, query: string}[]} */
function stored() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "[]");
  } catch {
    return [];
  }
}

function store(view, views) {
  localStorage.setItem(KEPT, JSON.stringify(views));
  view.requestUpdate();
}

/** What the list shows, as the query of an address. */
function shown(view) {
  const parts = { q: view.q, columns: view.columns.join(","), sort: view.sort, group: view.group };
  return new URLSearchParams(PARTS.filter((name) => parts[name]).map((name) => [name, parts[name]])).toString();
}

async function save(view) {
  const name = await askDialog({
    title: "Save this view",
    label: "Name",
    confirm: "Save",
    hint: "Search, columns, order and groups, in this browser. A view of the same name is replaced.",
  });
  if (!name) return;
  const views = [...stored().filter((one) => one.name !== name), { name, query: shown(view) }];
  store(
    view,
    views.sort((a, b) => a.name.localeCompare(b.name)),
  );
  toast(`${name} is saved`);
}

function remove(view, name) {
  const before = stored();
  store(
    view,
    before.filter((one) => one.name !== name),
  );
  toast(`${name} is removed`, { undo: () => store(view, before) });
}

export function viewMenu(view) {
  const present = shown(view);
  const views = stored();
  const current = views.find((one) => one.query === present);
  return menu(
    html`${current?.name ?? "Views"}${icon("down")}`,
    [
      ...views.map(({ name, query }) => ({ words: name, href: `/jobs?${query}` })),
      { words: "Save this view", act: () => save(view), isHidden: current !== undefined },
      {
        words: `Remove ${current?.name}`,
        act: () => remove(view, current.name),
        isDangerous: true,
        isHidden: current === undefined,
      },
    ],
    { name: "Views", key: view },
  );
}
