// Swagger UI: the operations of the HTTP API, and a form to try each of them.
import { withDocument } from "./api.js";
import { token } from "./service.js";

withDocument((openapi, place) => {
  const ui = SwaggerUIBundle({
    spec: openapi,
    domNode: place,
    deepLinking: true,
    validatorUrl: null,
    defaultModelsExpandDepth: 0,
    onComplete: () => {
      for (const name of Object.keys(openapi.components.securitySchemes)) ui.preauthorizeApiKey(name, token.get());
    },
  });
});
