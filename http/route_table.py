"""The table of routes: everything that the service answers, in one place. The app, the token check, the OpenAPI document and the
tests' route list are made from this table, so a route that is not here does not exist.

How to add an area (http/routes/session.py is a finished example):

1. Sentences: `config/messages/<area>.py`, spelled as in the rule book (docs/rules).
2. Handlers: `http/routes/<area>.py`, `async def name(request: Request, services: Services) -> Response`, about ten lines. A handler
   parses (`http.parse`; raises `Refusal`). It reads a published value or asks an address of `services`. It renders
   (`render.json_answer(value, status)`, or `render.encoded(document_bytes)` for bytes that are already JSON). The token is already
   checked when a handler runs. A handler catches nothing: `Refusal`, `ActorNotRunning`, `AskTimedOut` and `StoreError` become
   `{"error": ...}` in one place (`http.refusals`). Catch one of them only where the rule book has its own sentence for it.
3. Types of answers: `http/answers/<area>.py`, msgspec structs with a text below each field that says its unit and what null means, and an
   example of each. The tests check every answer of the route against them.
4. Rows: a tuple `ROUTES` of `Route` at the end of that module: method, path, handler, tag, operation id, summary, parameters, answers. Name a
   `Parameter` once and give it to its reader too: `parse.whole_number(request.args, LIMIT)`.
5. One line in `_AREAS` below, and a field in `http.services.Services` for what the handlers need.
6. Tests: tests/http/routes/test_<area>.py over the `client` fixture, one test per row of the rule book's error table. A test over
   this table already checks that every `/api` route refuses a request without a token.
"""

from onebroker.http.route import Route
from onebroker.http.routes import (
    alerts,
    api_pages,
    audit,
    broker_login,
    catalogue,
    dashboard,
    expiries,
    find,
    health,
    history,
    instruments,
    option_chain,
    orders_cancel,
    orders_close,
    orders_ended_parents,
    orders_flatten,
    orders_halt,
    orders_intents,
    orders_modify,
    orders_parents,
    orders_place,
    orders_read,
    portfolio,
    quotes,
    reference,
    session,
    stream,
)

_AREAS: tuple[Route, ...] = (
    *session.ROUTES,
    *broker_login.ROUTES,
    *health.ROUTES,
    *reference.ROUTES,
    *portfolio.ROUTES,
    *catalogue.ROUTES,
    *instruments.ROUTES,
    *find.ROUTES,
    *expiries.ROUTES,
    *option_chain.ROUTES,
    *quotes.ROUTES,
    *history.ROUTES,
    *orders_read.ROUTES,
    *orders_place.ROUTES,
    *orders_intents.ROUTES,
    *orders_modify.ROUTES,
    *orders_cancel.ROUTES,
    *orders_parents.ROUTES,
    *orders_ended_parents.ROUTES,
    *orders_flatten.ROUTES,
    *orders_close.ROUTES,
    *orders_halt.ROUTES,
    *audit.ROUTES,
    *alerts.ROUTES,
    *stream.ROUTES,
    *dashboard.ROUTES,
)

ROUTES: tuple[Route, ...] = (*_AREAS, *api_pages.describing(_AREAS))
