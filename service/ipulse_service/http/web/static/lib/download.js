// Files that the page makes: downloads, and the text of CSV.

/** Saves content as a file. @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const href = URL.createObjectURL(blob);
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000); // the browser may still read it
}

const quoted = (value) =>
  /[",\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");

/** @param {unknown[][]} rows @param {string} name */
export function downloadCsv(rows, name) {
  download(new Blob([rows.map((row) => row.map(quoted).join(",")).join("\n")], { type: "text/csv" }), name);
}
