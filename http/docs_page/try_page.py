"""The page `/docs/try`: Swagger UI over `/openapi.json`, to fill in and send requests in a browser. Pure.

Swagger UI is vendored unchanged in `swagger_ui/`; `VERSIONS.json` there has its version, its licence and the hash of each file. The page asks no
other host: its security policy forbids that, and Swagger UI's outside validator is switched off.
"""

from pathlib import Path

FOLDER = Path(__file__).parent / "swagger_ui"
SCRIPT, STYLE = "swagger-ui-bundle.js", "swagger-ui.css"

PAGE = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Try the onebroker API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/docs/try/swagger-ui.css">
</head>
<body>
<main>
<p>An order that you send from this page is real. Enter the access token under Authorize; the page forgets it when it is closed.</p>
<div id="try"></div>
</main>
<script src="/docs/try/swagger-ui.js"></script>
<script src="/docs/try/start.js"></script>
</body>
</html>
"""

START = b"""// Starts Swagger UI over this service's own document.
window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#try",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    validatorUrl: null,
  });
});
"""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def vendored(name: str) -> bytes:
    """Return a file of Swagger UI."""
    return (FOLDER / name).read_bytes()
