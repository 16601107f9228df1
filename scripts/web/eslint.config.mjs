// The rules of `make lint` for JavaScript.
import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/vendor/**", "**/node_modules/**", "**/*.min.js", "**/templates/uplot.js"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      // White space in templates is text of the page.
      "max-len": [
        "error",
        { code: 120, ignoreTemplateLiterals: true, ignoreStrings: true, ignoreRegExpLiterals: true, ignoreUrls: true },
      ],
      "no-implicit-globals": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  { files: ["scripts/web/*.mjs", "tests/**/*.mjs"], languageOptions: { globals: globals.node } },
];
