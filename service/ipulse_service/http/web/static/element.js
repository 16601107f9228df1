// Elements without HTML texts: whatever a job says stays text.

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

/** A table with a caption for those who do not see it; a cell is a text or an element. */
export function table(caption, columns, rows) {
  const head = element("tr", {}, columns.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map((cells) =>
    element("tr", {}, cells.map((cell, i) => element("td", { "data-column": columns[i] }, cell ?? ""))),
  );
  return element("div.scroll", { tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, body)));
}

/**
 * Makes of `old` what `made` is, and says what stands there now. What is alike is left alone: a link that is pressed, a focus,
 * a place that was scrolled to.
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

/** What went wrong, with each place in the input that the service named. */
export function complaint(error) {
  const places = (error.errors ?? []).map((one) =>
    element("li", {}, one.pointer ? element("code", {}, one.pointer) : null, one.pointer ? " " : "", one.detail));
  return element("div.complaint", { role: "alert" }, element("p", {}, error.message),
    places.length ? element("ul", {}, places) : null,
    error.requestId ? element("p.soft", {}, `request ${error.requestId}`) : null);
}
