// Swagger UI: the operations of the HTTP API, and a form to try each of them.
import { withDocument } from "./api.js";
import { prefix } from "./lib/address.js";

/* global SwaggerUIBundle */ // of its own script
withDocument((openapi, place) =>
  SwaggerUIBundle({
    spec: prefix ? { ...openapi, servers: [{ url: prefix }] } : openapi,
    domNode: place,
    deepLinking: true,
    validatorUrl: null,
    defaultModelsExpandDepth: 0,
    requestInterceptor: (request) => {
      request.headers["x-ipulse-page"] = "1";
      return request;
    },
  }),
);
