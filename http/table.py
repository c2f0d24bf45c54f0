"""The table of routes: everything the service answers, in one place. The app, the token check, the OpenAPI document and
the tests' route list are made from it, so a route that is not here does not exist.

How to add an area (see http/routes/session.py for one done):

1. Sentences: `config/messages/<area>.py`, spelled as in the rule book (docs/rules).
2. Handlers: `http/routes/<area>.py`, `async def name(request: Request, services: Services) -> Response`, about ten lines:
   parse (`http.parse`; raises `Refusal`), read a published value or ask an address of `services`, render
   (`render.json_answer(value, status)`, or `render.encoded(document_bytes)` for bytes that are JSON already). The token
   has been checked when a handler runs. Nothing is caught: `Refusal`, `ActorNotRunning`, `AskTimedOut` and `StoreError`
   become `{"error": ...}` in one place (`http.refusals`); catch one only where the rule book has a sentence of its own for it.
3. Rows: a tuple `ROUTES` of `Route` at the end of that module: method, path, handler, tag, summary, parameters, answers.
   A `Parameter` is named once and given to its reader too: `parse.whole_number(request.args, LIMIT)`.
4. One line in `_AREAS` below. A field in `http.services.Services` for what the handlers need.
5. Tests: tests/http/routes/test_<area>.py over the `client` fixture, one test per row of the rule book's error table. That every
   `/api` route refuses without token is tested from this table already.
"""

from onebroker.http.route import Route
from onebroker.http.routes import (
    api_pages,
    catalogue,
    health,
    history,
    instruments,
    orders_cancel,
    orders_flatten,
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
    *health.ROUTES,
    *reference.ROUTES,
    *portfolio.ROUTES,
    *catalogue.ROUTES,
    *instruments.ROUTES,
    *quotes.ROUTES,
    *history.ROUTES,
    *orders_read.ROUTES,
    *orders_place.ROUTES,
    *orders_intents.ROUTES,
    *orders_modify.ROUTES,
    *orders_cancel.ROUTES,
    *orders_parents.ROUTES,
    *orders_flatten.ROUTES,
    *stream.ROUTES,
)

ROUTES: tuple[Route, ...] = (*_AREAS, *api_pages.describing(_AREAS))
