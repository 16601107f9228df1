// Named views of a page: parts of its address, kept in this browser.
import { html } from "../vendor.js";
import { askDialog } from "./dialog.js";
import { icon } from "./icon.js";
import { menu } from "./menu.js";
import { toast } from "./toast.js";

/**
 * A menu of the named views.
 * @param {any} view
 * @param {object} options
 * @param {string} options.kept the key in this browser's storage
 * @param {string} options.present the query of what is shown now
 * @param {(query: string) => string} options.address of a stored query
 * @param {string} options.hint which parts of the address a view has
 */
export function savedViews(view, { kept, present, address, hint }) {
  const stored = () => {
    try {
      return JSON.parse(localStorage.getItem(kept) ?? "[]");
    } catch {
      return [];
    }
  };
  const store = (views) => {
    localStorage.setItem(kept, JSON.stringify(views));
    view.requestUpdate();
  };
  const save = async () => {
    const name = await askDialog({
      title: "Save this view",
      label: "Name",
      confirm: "Save",
      hint: `${hint}, in this browser. A view of the same name is replaced.`,
    });
    if (!name) return;
    const views = [...stored().filter((one) => one.name !== name), { name, query: present }];
    store(views.sort((a, b) => a.name.localeCompare(b.name)));
    toast(`${name} is saved`);
  };
  const remove = (name) => {
    const before = stored();
    store(before.filter((one) => one.name !== name));
    toast(`${name} is removed`, { undo: () => store(before) });
  };
  /** @type {{name: string, query: string}[]} */
  const views = stored();
  const current = views.find((one) => one.query === present);
  return menu(
    html`${current?.name ?? "Views"}${icon("down")}`,
    [
      ...views.map(({ name, query }) => ({ words: name, href: address(query) })),
      { words: "Save this view", act: save, isHidden: current !== undefined },
      {
        words: `Remove ${current?.name}`,
        act: () => remove(current.name),
        isDangerous: true,
        isHidden: current === undefined,
      },
    ],
    { name: "Views", key: view },
  );
}
