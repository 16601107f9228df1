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

/** An error message with the problems and their places in the input. */
export function complaint(error) {
  const places = (error.errors ?? []).map((problem) =>
    element(
      "li",
      {},
      problem.pointer ? element("code", {}, problem.pointer) : null,
      problem.pointer ? " " : "",
      problem.detail,
    ),
  );
  return element(
    "div.complaint",
    { role: "alert" },
    element("p", {}, error.message),
    places.length ? element("ul", {}, places) : null,
    error.requestId ? element("p.soft", {}, `request ${error.requestId}`) : null,
  );
}
