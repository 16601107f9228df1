// Makes the curves of the report interactive: values under the pointer, zoom, log scale, table.
// Without this script the page shows the same curves as images. Adds links to the job's views.
"use strict";
/* global uPlot */
(() => {
  const HEIGHT = 258;
  const FONT = "12.5px system-ui, sans-serif";
  const INTEGERS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 100000];

  /** Returns a colour of the style sheet. @param {string} name */
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /** Returns the colour of a kind of series: s3, test, train. @param {string} kind */
  const strokeOf = (kind) => colour({ train: "c0", test: "c1" }[kind] ?? kind.replace("s", "c"));

  /** Formats a number with up to four digits. @param {?number} value */
  const format = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2);
    return value.toLocaleString("en", { maximumSignificantDigits: 4 });
  };

  /** Creates an element. @param {string} tag @param {object} properties @param {...Node} children */
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  /** One interactive chart in the place of a drawn one. */
  class Chart {
    /** @param {HTMLElement} place @param {object} data as charts.curves writes it */
    constructor(place, data) {
      this.data = data;
      this.place = place;
      this.isLog = false;
      this.labels = place.querySelector(".labels");
      this.ends = [...place.querySelectorAll(".end")];
      this.texts = this.ends.map((end) => end.textContent);
      this.at = element("span", { className: "at" });
      this.labels.append(this.at);
      this.box = element("div", { className: "live", tabIndex: 0 });
      this.box.setAttribute("role", "group");
      this.box.setAttribute(
        "aria-label",
        `${place.getAttribute("aria-label")}. Arrow keys read values, + and - zoom, Escape resets.`,
      );
      this.spoken = element("p", { className: "spoken" });
      this.spoken.setAttribute("aria-live", "polite");
      place.removeAttribute("role");
      place.removeAttribute("aria-label");
      place.querySelector(".plot").replaceWith(this.box, this.spoken, this.tools());
      this.box.addEventListener("keydown", (event) => this.key(event));
      this.draw();
      new ResizeObserver(() => this.resize()).observe(this.box);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    /** Returns the row of buttons below the chart. */
    tools() {
      const log = element("button", { type: "button", textContent: "Log scale" });
      log.setAttribute("aria-pressed", "false");
      log.addEventListener("click", () => {
        this.isLog = !this.isLog;
        log.setAttribute("aria-pressed", String(this.isLog));
        this.draw();
      });
      const table = element("button", { type: "button", textContent: "Data as table" });
      table.setAttribute("aria-expanded", "false");
      table.addEventListener("click", () => {
        const isOpen = table.getAttribute("aria-expanded") === "true";
        table.setAttribute("aria-expanded", String(!isOpen));
        if (isOpen) this.table.remove();
        else row.after((this.table = this.rows()));
      });
      this.reset = element("button", { type: "button", textContent: "Reset zoom", hidden: true });
      this.reset.addEventListener("click", () => this.zoom(...this.extent()));
      const row = element("div", { className: "tools" }, this.reset, log, table);
      return row;
    }

    /** Returns all values as a table that scrolls within itself. */
    rows() {
      const { x, x_label, series } = this.data;
      const heads = [x_label, ...series.map(({ name }) => name)];
      const head = element("tr", {}, ...heads.map((text) => element("th", { textContent: text, scope: "col" })));
      const lines = x.map((value, at) => {
        const values = [value, ...series.map(({ values }) => values[at])];
        return element("tr", {}, ...values.map((v) => element("td", { textContent: format(v) })));
      });
      const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
      const box = element("div", { className: "scroll values", tabIndex: 0 }, table);
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", "Values");
      return box;
    }

    /** Returns the smallest and the largest x, apart from each other. */
    extent() {
      const { x } = this.data;
      const [low, high] = [x[0], x[x.length - 1]];
      return low === high ? [low - 0.5, high + 0.5] : [low, high];
    }

    /** Draws the chart anew, with the current scale and theme. */
    draw() {
      const { x, y_range, series, whole } = this.data;
      this.plot?.destroy();
      const positive = (v) => (this.isLog && v <= 0 ? null : v);
      const axis = {
        stroke: colour("soft"),
        font: FONT,
        labelFont: FONT,
        grid: { stroke: colour("grid"), width: 1 },
        ticks: { show: false },
      };
      this.plot = new uPlot(
        {
          width: this.box.clientWidth || 320,
          height: HEIGHT,
          legend: { show: false },
          cursor: { y: false, points: { size: 7 } },
          scales: {
            x: { time: false, range: (_, low, high) => (low === high ? this.extent() : [low, high]) },
            y: this.isLog ? { distr: 3 } : { range: () => y_range },
          },
          axes: [
            {
              ...axis,
              label: this.data.x_label,
              labelSize: 20,
              size: 26,
              incrs: whole ? INTEGERS : undefined,
              grid: { show: false },
            },
            { ...axis, size: 50, values: (_, ticks) => ticks.map((v) => (v === null ? "" : format(v))) },
          ],
          series: [
            {},
            ...series.map(({ name, kind, values }) => ({
              label: name,
              stroke: strokeOf(kind),
              width: kind === "train" ? 1.5 : 2,
              dash: kind === "train" ? [5, 4] : undefined,
              points: { show: values.length === 1, size: 7, fill: strokeOf(kind) },
            })),
          ],
          hooks: {
            setCursor: [(plot) => this.show(plot.cursor.idx)],
            setScale: [(plot, key) => key === "x" && this.zoomed(plot)],
          },
        },
        [x, ...series.map(({ values }) => values.map(positive))],
        this.box,
      );
    }

    /** Shows the values at a point in the labels above; null restores them. @param {?number} at */
    show(at) {
      const { x, x_label, series } = this.data;
      const isShown = at !== null && at !== undefined;
      this.at.textContent = isShown ? `${x_label} ${format(x[at])}` : "";
      this.ends.forEach((end, n) => {
        end.textContent = isShown ? `${series[n].name} ${format(series[n].values[at])}` : this.texts[n];
      });
    }

    /** Shows the reset button while a part is shown. @param {uPlot} plot */
    zoomed({ scales }) {
      const [low, high] = this.extent();
      this.reset.hidden = scales.x.min <= low && scales.x.max >= high;
    }

    /** Shows a part of the x axis. @param {number} low @param {number} high */
    zoom(low, high) {
      const [first, last] = this.extent();
      if (high - low < (last - first) / 1e4) return;
      this.plot.setScale("x", { min: Math.max(low, first), max: Math.min(high, last) });
    }

    /** Moves the cursor, zooms or resets. @param {KeyboardEvent} event */
    key(event) {
      const { x, series } = this.data;
      const { min, max } = this.plot.scales.x;
      const at = this.plot.cursor.idx ?? (event.key === "ArrowLeft" ? x.length : -1);
      const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: x.length - 1 };
      const middle = at >= 0 && at < x.length ? x[at] : (min + max) / 2;
      if (event.key in moves) {
        const next = Math.min(x.length - 1, Math.max(0, moves[event.key]));
        this.plot.setCursor({ left: this.plot.valToPos(x[next], "x"), top: 20 });
        const values = series.map(({ name, values }) => `${name} ${format(values[next])}`);
        this.spoken.textContent = `${this.data.x_label} ${format(x[next])}: ${values.join(", ")}`;
      } else if (event.key === "+") this.zoom(middle - (max - min) / 4, middle + (max - min) / 4);
      else if (event.key === "-") this.zoom(middle - (max - min), middle + (max - min));
      else if (event.key === "Escape") this.zoom(...this.extent());
      else return;
      event.preventDefault();
    }

    /** Follows the width of the page. */
    resize() {
      const width = this.box.clientWidth;
      if (width && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
    }
  }

  const VIEWS = [
    ["overview", "Job"],
    ["log", "Log"],
    ["profile", "Profile"],
    ["config", "Config"],
    ["compare", "Compare"],
  ];

  /** Links to the job's views, if the service shows this report. A frame asks the page to go there. */
  const links = () => {
    const [, job] = /^\/v1\/jobs\/(\w+)\/report$/.exec(location.pathname) ?? [];
    if (!job) return;
    const addressOf = (view) => (view === "compare" ? `/compare?jobs=${job}` : `/jobs/${job}/${view}`);
    const isFramed = window.parent !== window;
    const items = VIEWS.map(([view, text]) => {
      if (!isFramed) return element("a", { href: addressOf(view), textContent: text });
      const button = element("button", { type: "button", textContent: text });
      button.addEventListener("click", () => window.parent.postMessage({ open: view }, "*"));
      return button;
    });
    const nav = element("nav", { className: "links" }, ...items);
    nav.setAttribute("aria-label", "The job");
    document.querySelector(".over").after(nav);
  };

  links();
  for (const block of document.querySelectorAll('script[type="application/json"]')) {
    new Chart(block.previousElementSibling, JSON.parse(block.textContent));
  }
})();
