"""The document route in Flask and in Starlette, for `bench.bench_routes`: each compares the token and answers bytes that were made once. They check
no age and no host name.

This module runs in the environment `.sdk/bench`, where onebroker is not. `BENCH_BODY` names the file with the bytes, `BENCH_TOKEN` is the token.
"""

import hmac
import os
from pathlib import Path
from typing import Any

PATH = "/api/portfolio/positions"
BODY = Path(os.environ["BENCH_BODY"]).read_bytes()
TOKEN = os.environ["BENCH_TOKEN"].encode()


def _is_right(token: str) -> bool:
    return hmac.compare_digest(token.encode("latin-1"), TOKEN)


def flask() -> Any:
    import flask as framework

    app = framework.Flask(__name__, static_folder=None)

    @app.get(PATH)
    def positions() -> Any:
        if not _is_right(framework.request.headers.get("access-token", "")):
            return framework.Response(b"{}", 401, mimetype="application/json")
        return framework.Response(BODY, mimetype="application/json")

    return app


def starlette() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def positions(request: Request) -> Response:
        if not _is_right(request.headers.get("access-token", "")):
            return Response(b"{}", 401, media_type="application/json")
        return Response(BODY, media_type="application/json")

    return Starlette(routes=[Route(PATH, positions)])
