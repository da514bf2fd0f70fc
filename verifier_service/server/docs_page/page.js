"use strict";

// Every address is relative, so that the page works under any prefix of a proxy.
window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#api",
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    // Never ask a validator on the internet.
    validatorUrl: null,
  });
});
