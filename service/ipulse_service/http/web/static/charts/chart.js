// A chart of ECharts; the bundle is loaded when the first such chart is seen.
import { LitElement, html, nothing } from "../vendor.js";
import { onTheme } from "../lib/theme.js";

const NAMES = [
  "ink",
  "soft",
  "hair",
  "grid",
  "card",
  "panel",
  "c0",
  "c1",
  "s1",
  "s2",
  "s3",
  "s4",
  "s5",
  "s6",
  "s7",
  "s8",
];

class Chart extends LitElement {
  static properties = {
    option: { attribute: false },
    label: {},
    events: { attribute: false },
    failed: { state: true },
  };

  constructor() {
    super();
    /** @type {(colors: Record<string, string>) => object} returns the option in the colours of the theme */
    this.option = () => ({});
    this.label = "";
    /** @type {Record<string, (event: any, chart: any) => void>} */
    this.events = {};
    this.failed = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.endTheme = onTheme(() => this.draw());
  }

  firstUpdated() {
    this.seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.begin(), {
      rootMargin: "200px",
    });
    this.seen.observe(this.box);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.endTheme();
    this.seen?.disconnect();
    this.resized?.disconnect();
    this.chart?.dispose();
    this.chart = null;
  }

  get box() {
    return /** @type {HTMLElement} */ (this.querySelector(".chart-box"));
  }

  async begin() {
    this.seen.disconnect();
    try {
      const { init } = await import("../../vendor/bundles/echarts.js");
      if (!this.isConnected || this.chart) return;
      this.chart = init(this.box, null, { renderer: "canvas" });
    } catch (error) {
      this.failed = error;
      return;
    }
    this.resized = new ResizeObserver(() => this.chart?.resize());
    this.resized.observe(this.box);
    for (const name of Object.keys(this.events)) this.chart.on(name, (event) => this.events[name]?.(event, this.chart));
    this.draw();
  }

  draw() {
    if (!this.chart) return;
    const style = getComputedStyle(document.documentElement);
    const colors = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.chart.setOption(
      {
        animation: false,
        textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colors.soft },
        aria: { enabled: true },
        ...this.option(colors),
      },
      { notMerge: true },
    );
  }

  updated(changed) {
    if (changed.has("option")) this.draw();
  }

  render() {
    return html`<div class="chart-box" role="img" aria-label=${this.label}></div>
      ${this.failed ? html`<p class="soft">The chart could not be loaded. ${this.failed.message}</p>` : nothing}`;
  }
}
customElements.define("ip-chart", Chart);

/** Text of a tooltip; canvas, since HTML tooltips need inline styles. */
export const tooltip = (colors) => ({
  renderMode: "richText",
  confine: true,
  backgroundColor: colors.card,
  borderColor: colors.hair,
  textStyle: { color: colors.ink, fontSize: 13 },
});

/** The option of a chart of a view: the same object while `key` is the same, so that a poll does not undo a brush. */
export function keptOption(view, name, key, make) {
  view.options ??= {};
  if (view.options[name]?.key !== key) view.options[name] = { key, option: make() };
  return view.options[name].option;
}
