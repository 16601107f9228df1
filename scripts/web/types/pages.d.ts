// Globals of scripts that a page loads by itself.
declare const SwaggerUIBundle: (options: object) => unknown;
declare const Redoc: { init: (spec: object, options: object, place: Element) => void };
