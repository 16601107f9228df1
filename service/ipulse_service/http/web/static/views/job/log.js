// The log: search, levels, attempts, and only the visible lines of a long one in the document.
import {
  Virtualizer,
  elementScroll,
  observeElementOffset,
  observeElementRect,
} from "../../../vendor/bundles/virtual.js";
import { updateQuery } from "../../app/router.js";
import { isOver } from "../../lib/format.js";
import { copy } from "../../parts/copy.js";
import { Tab, html, nothing } from "./tab.js";
import { LogLines, expressionOf, filtered } from "./log_lines.js";

const LINE = 20; // pixels

class Log extends Tab {
  constructor() {
    super();
    this.loaded = null; // its lines come by a stream
    this.follows = true;
    this.isJumping = false; // to an end, which scrolls by steps
    this.match = -1;
    this.isWrapped = localStorage.getItem("ipulse-log-wrap") === "on";
    this.lines = [];
    this.matching = [];
    this.sought = ""; // the address follows what is typed, and never the other way while it is typed
  }

  willUpdate(changed) {
    super.willUpdate(changed);
    const before = changed.get("job");
    // another stream has its further lines
    const isRetried = before && this.job && isOver(before.state) && !isOver(this.job.state);
    if (this.job && (this.log?.id !== this.job.id || isRetried)) {
      this.log?.stop();
      this.log = new LogLines(this.job.id);
      this.log.addEventListener("change", () => this.requestUpdate());
      this.log.start();
    }
    if (changed.has("route") && !this.querySelector(".find input")?.matches(":focus"))
      this.sought = this.route?.query.get("find") ?? "";
    this.filter();
  }

  needsLoad() {
    return false;
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.log?.stopping.signal.aborted) this.log = undefined;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.log?.stop();
    this.unmount?.();
    this.virtual = undefined;
  }

  filter() {
    const query = this.route?.query ?? new URLSearchParams();
    const options = {
      level: query.get("level"),
      attempt: Number(query.get("attempt")) || null,
      stream: query.get("stream"),
    };
    this.lines = filtered(this.log?.lines ?? [], options);
    this.wrong = "";
    this.expression = null;
    try {
      this.expression = expressionOf(this.sought);
    } catch (error) {
      this.wrong = error.message;
    }
    const { expression } = this;
    this.matching = expression ? this.lines.flatMap((line, at) => (expression.test(line.text) ? [at] : [])) : [];
    if (this.match >= this.matching.length) this.match = this.matching.length - 1;
  }

  firstUpdated() {
    this.box = this.querySelector(".log");
    const rerender = () => this.requestUpdate();
    this.options = () => ({
      count: this.lines.length,
      getScrollElement: () => this.box,
      estimateSize: () => LINE,
      overscan: 12,
      scrollToFn: elementScroll,
      observeElementRect,
      observeElementOffset,
      onChange: rerender,
      initialRect: { width: 800, height: 500 },
      getItemKey: (at) => this.lines[at]?.number ?? at,
    });
    this.virtual = new Virtualizer(this.options());
    this.unmount = this.virtual._didMount();
    this.requestUpdate();
  }

  updated() {
    if (!this.virtual) return;
    this.virtual._willUpdate();
    if (this.isWrapped) this.querySelectorAll(".log-line").forEach((line) => this.virtual.measureElement(line));
    const named = /^#L(\d+)$/.exec(location.hash)?.[1];
    if (named && named !== this.shownLine && this.lines.length >= Number(named)) {
      this.shownLine = named;
      this.follows = false;
      this.virtual.scrollToIndex(
        this.lines.findIndex((line) => line.number === Number(named)),
        { align: "center" },
      );
    } else if (this.follows && !named && this.lines.length !== this.followed) {
      this.followed = this.lines.length;
      if (this.lines.length) this.virtual.scrollToIndex(this.lines.length - 1, { align: "end" });
    }
  }

  /** Reading earlier lines ends following; the last line begins it again. */
  scrolled() {
    const { box } = this;
    const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 2 * LINE;
    if (this.follows !== isAtEnd && !this.isJumping) {
      this.follows = isAtEnd;
      this.requestUpdate();
    }
  }

  seek(text) {
    this.sought = text;
    this.match = -1;
    updateQuery({ find: text });
    this.requestUpdate();
  }

  go(by) {
    if (!this.matching.length) return;
    this.match = (this.match + by + this.matching.length) % this.matching.length;
    this.follows = false;
    this.virtual.scrollToIndex(this.matching[this.match], { align: "center" });
    this.requestUpdate();
  }

  render() {
    if (!this.job) return nothing;
    if (this.virtual) this.virtual.setOptions(this.options());
    const items = this.virtual?.getVirtualItems() ?? [];
    const total = this.virtual?.getTotalSize() ?? 0;
    return html`${this.tools()}
      <div class="log ${this.isWrapped ? "wraps" : ""}" role="log" aria-live="off" tabindex="0" aria-label="Log" @scroll=${() => this.scrolled()}>
        ${
          this.lines.length
            ? html`<div class="log-all" .style=${`height: ${total}px`}>${items.map((item) => this.line(item))}</div>`
            : html`<p class="soft">${this.log?.isComplete ? "The log is empty." : "Nothing yet."}</p>`
        }
      </div>
      <p class="soft small log-foot"><span>${this.lines.length.toLocaleString("en")} lines${this.lines.length === this.log.lines.length ? "" : ` of ${this.log.lines.length.toLocaleString("en")}`}</span>
        ${this.log.broken ? html`<span role="status">Reconnecting …</span>` : nothing}</p>`;
  }

  tools() {
    const query = this.route?.query ?? new URLSearchParams();
    const select = (
      name,
      words,
      choices,
    ) => html`<label class="inline">${words} <select @change=${(event) => updateQuery({ [name]: event.target.value })}>
      ${choices.map(([value, text]) => html`<option value=${value} ?selected=${(query.get(name) ?? "") === value}>${text}</option>`)}</select></label>`;
    const count = this.matching.length;
    const onKey = (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    };
    return html`<div class="bar log-bar" role="toolbar" aria-label="Log">
      <label class="find"><span class="visually-hidden">Find</span><input type="search" placeholder="Find text or /expression/" .value=${this.sought}
        @input=${(event) => this.seek(event.target.value)} @keydown=${onKey} aria-invalid=${this.wrong ? "true" : nothing}></label>
      <span class="soft small" role="status">${this.wrong || (this.sought ? `${count ? this.match + 1 : 0} of ${count.toLocaleString("en")}` : "")}</span>
      <span class="buttons">
        <button type="button" ?disabled=${!count} @click=${() => this.go(-1)} aria-label="Previous match">↑</button>
        <button type="button" ?disabled=${!count} @click=${() => this.go(1)} aria-label="Next match">↓</button>
      </span>
      ${select("level", "level", [
        ["", "all"],
        ["info", "info"],
        ["warning", "warnings"],
        ["error", "errors"],
      ])}
      ${this.job.attempts.length > 1 ? select("attempt", "attempt", [["", "all"], ...this.job.attempts.map(({ number }) => [String(number), String(number)])]) : nothing}
      <span class="buttons end">
        <button type="button" aria-pressed=${String(this.follows)} @click=${() => {
          this.follows = !this.follows;
          this.followed = -1;
          this.requestUpdate();
        }}>Follow</button>
        <button type="button" aria-pressed=${String(this.isWrapped)} @click=${() => this.wrap()}>Wrap</button>
        <button type="button" @click=${() => copy(this.lines.map((line) => line.text).join("\n"))}>Copy</button>
        <a class="button" href="/v1/jobs/${this.job.id}/log" download="${this.job.name || this.job.id}.log">Download</a>
      </span>
    </div>`;
  }

  wrap() {
    this.isWrapped = !this.isWrapped;
    localStorage.setItem("ipulse-log-wrap", this.isWrapped ? "on" : "off");
    this.virtual.measure();
    this.requestUpdate();
  }

  line(item) {
    const line = this.lines[item.index];
    if (!line) return nothing;
    const isMatch = this.matching[this.match] === item.index;
    const isNamed = location.hash === `#L${line.number}`;
    return html`<div class="log-line ${line.isStep ? "step" : line.checkpoints ? "debug" : ""} ${line.level} ${isMatch || isNamed ? "current" : ""}" data-index=${item.index}
      .style=${`transform: translateY(${item.start}px)`}><a class="at" href="#L${line.number}" tabindex="-1"
      @click=${() => setTimeout(() => this.requestUpdate())}>${line.number}</a><time datetime=${line.time}>${line.time.slice(11, 19)}</time><span>${this.marked(line.text)}</span></div>`;
  }

  marked(text) {
    const { expression } = this;
    const found = expression?.exec(text);
    if (!found || !found[0]) return text;
    return html`${text.slice(0, found.index)}<mark>${found[0]}</mark>${text.slice(found.index + found[0].length)}`;
  }
}
customElements.define("ip-job-log", Log);
