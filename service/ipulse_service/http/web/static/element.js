// Builds elements without HTML strings, so that texts of jobs stay text.

/** element("a.quiet", {href, onclick}, "text", child, [more]): null and false are left out. */
export function element(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== false && child !== undefined));
  return made;
}

/** A table with a caption for screen readers; a cell is a text or an element. */
export function table(caption, columns, rows) {
  // A phone shows a row as a card, and a browser would no longer take that for a table without the roles.
  const row = (cells) => element("tr", { role: "row" }, cells);
  const head = row(columns.map((name) => element("th", { scope: "col", role: "columnheader" }, name)));
  const body = rows.map((cells) => row(cells.map((cell, i) => element("td", { role: "cell", "data-column": columns[i] }, cell ?? ""))));
  return element("div.scroll", { tabindex: "0", role: "region", "aria-label": caption },
    element("table", { role: "table" }, element("caption", {}, caption), element("thead", { role: "rowgroup" }, head),
      element("tbody", { role: "rowgroup" }, body)));
}

/**
 * Updates `old` to equal `made`, and returns the element that is in the document now. Equal parts are not replaced, which keeps
 * a pressed link, the focus and the scroll position.
 */
export function renewed(old, made) {
  if (old.isEqualNode(made)) return old;
  const isAlike = old.cloneNode().isEqualNode(made.cloneNode()) && old.hasChildNodes() && old.childNodes.length === made.childNodes.length;
  if (!isAlike) {
    old.replaceWith(made);
    return made;
  }
  const parts = [...made.childNodes];
  [...old.childNodes].forEach((part, i) => renewed(part, parts[i]));
  return old;
}

/** An error message with the problems and their places in the input. */
export function complaint(error) {
  const places = (error.errors ?? []).map((problem) =>
    element("li", {}, problem.pointer ? element("code", {}, problem.pointer) : null, problem.pointer ? " " : "", problem.detail));
  return element("div.complaint", { role: "alert" }, element("p", {}, error.message),
    places.length ? element("ul", {}, places) : null,
    error.requestId ? element("p.soft", {}, `request ${error.requestId}`) : null);
}
