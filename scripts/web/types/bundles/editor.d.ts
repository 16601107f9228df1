export { autocompletion } from "@codemirror/autocomplete";
export { yaml } from "@codemirror/lang-yaml";
export { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { EditorState } from "@codemirror/state";
export { EditorView, hoverTooltip } from "@codemirror/view";
export { basicSetup } from "codemirror";
export { tags } from "@lezer/highlight";
export * as YAML from "yaml";
