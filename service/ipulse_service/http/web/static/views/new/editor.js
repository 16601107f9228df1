// The editor of a spec: CodeMirror in a shadow root, where its style sheets need no exception from the policy.
import { LitElement, css, html } from "../../vendor.js";
import {
  EditorState,
  EditorView,
  HighlightStyle,
  basicSetup,
  autocompletion,
  hoverTooltip,
  indentUnit,
  lintGutter,
  setDiagnostics,
  syntaxHighlighting,
  tags,
  yaml,
} from "../../../vendor/bundles/editor.js";
import { completions, described } from "./completion.js";

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--c2)" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--soft)" },
]);
const LOOKS = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--card)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--panel) 60%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent)",
  },
  ".cm-tooltip": {
    border: "1px solid var(--hair)",
    borderRadius: "8px",
    backgroundColor: "var(--card)",
    color: "var(--ink)",
    boxShadow: "var(--shadow)",
    maxWidth: "440px",
  },
  ".cm-tooltip.cm-tooltip-hover, .cm-completionInfo": {
    padding: "8px 12px",
    fontFamily: "var(--sans)",
    fontSize: "13px",
    lineHeight: "1.45",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--soft)", fontStyle: "normal" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)", fontFamily: "var(--sans)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--accent)", fontFamily: "var(--sans)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--ink)" },
});

class Editor extends LitElement {
  static properties = { text: { attribute: false }, problems: { attribute: false }, schema: { attribute: false } };

  static styles = css`
    :host { display: block; height: 100%; min-height: 460px; border: 1px solid var(--hair); border-radius: var(--radius); overflow: hidden; background: var(--card); }
    :host(:focus-within) { outline: 2px solid var(--accent); outline-offset: 1px; }
    :host([drop]) { outline: 2px dashed var(--accent); outline-offset: 1px; }
    .box { height: 100%; }`;

  constructor() {
    super();
    this.text = "";
    /** @type {import("./check.js").Problem[]} */
    /** @type {{from: number, to: number, message: string, severity?: "error" | "warning" | "info"}[]} */
    this.problems = [];
    this.schema = null;
  }

  render() {
    return html`<div class="box" id="editor"></div>`;
  }

  firstUpdated() {
    const onChange = EditorView.updateListener.of((update) => {
      if (!update.docChanged || this.isWriting) return;
      this.text = update.state.doc.toString();
      this.dispatchEvent(new CustomEvent("change", { detail: this.text }));
    });
    this.editor = new EditorView({
      parent: this.renderRoot.querySelector(".box"),
      root: /** @type {ShadowRoot} */ (this.renderRoot),
      state: EditorState.create({
        doc: this.text,
        extensions: [
          basicSetup,
          yaml(),
          indentUnit.of("  "),
          LOOKS,
          syntaxHighlighting(COLOURS),
          lintGutter(),
          EditorView.lineWrapping,
          onChange,
          autocompletion({ override: [(context) => completions(context, this.schema)], icons: false }),
          hoverTooltip((view, pos) => this.tooltip(view, pos)),
          EditorView.contentAttributes.of({ "aria-label": "Spec as YAML", spellcheck: "false", tabindex: "0" }),
        ],
      }),
    });
    this.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.toggleAttribute("drop", true);
    });
    this.addEventListener("dragleave", () => this.toggleAttribute("drop", false));
    this.addEventListener("drop", (event) => this.dropped(event), { capture: true });
    this.addEventListener("paste", (event) => this.pasted(event), { capture: true });
  }

  updated(changed) {
    const view = this.editor;
    if (!view) return;
    if (changed.has("text") && this.text !== view.state.doc.toString()) {
      this.isWriting = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: this.text } });
      this.isWriting = false;
    }
    if (changed.has("problems")) {
      const { length } = view.state.doc;
      view.dispatch(
        setDiagnostics(
          view.state,
          this.problems.map(({ from, to, message, severity = "error" }) => ({
            from: Math.min(from, length),
            to: Math.min(to, length),
            severity,
            message,
          })),
        ),
      );
    }
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.text = this.editor?.state.doc.toString() ?? this.text;
  }

  /** Puts the cursor at a place of the text. @param {number} place */
  show(place) {
    this.editor.dispatch({
      selection: { anchor: Math.min(place, this.editor.state.doc.length) },
      scrollIntoView: true,
    });
    this.editor.focus();
  }

  tooltip(view, pos) {
    const found = described(view.state, pos, this.schema);
    if (!found) return null;
    return { pos: found.from, end: found.to, above: true, create: () => ({ dom: found.dom }) };
  }

  dropped(event) {
    this.toggleAttribute("drop", false);
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault();
    event.stopPropagation();
    this.dispatchEvent(new CustomEvent("open", { detail: file }));
  }

  pasted(event) {
    const [file] = event.clipboardData?.files ?? [];
    if (!file) return;
    event.preventDefault();
    event.stopPropagation();
    this.dispatchEvent(new CustomEvent("open", { detail: file }));
  }
}
customElements.define("ip-editor", Editor);
