"""What the command line reads over the control socket, without the API's access token: the health, the orders, the access
token, how far the trading calendar is known.

The requests are `{"command": "health"}`, `{"command": "calendar"}`, `{"command": "orders", "parent": ID}` (all orders without `parent`) and `{"command": "token"}`. The
health and the documents are those of the API. The token is the token that connect gives: a valid token is joined, never replaced.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from onebroker.actors.engine.intake.request_fields import uuid_text
from onebroker.actors.engine.shown.stored_parents import Unreadable, open_parents, stored_parent
from onebroker.actors.health.calendar_problems import calendar_line
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.portfolio.book_filters import BookFilter, filtered_body
from onebroker.actors.portfolio.document_age import READ_RULES, servable
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.store.interface import Store, StoreError
from onebroker.actors.store.keys import Resource
from onebroker.actors.token.messages import Connect, TokenMessage
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.messages import orders as texts
from onebroker.config.messages import session
from onebroker.config.refusal import Refusal

HEALTH, ORDERS, TOKEN, CALENDAR = "health", "orders", "token", "calendar"
COMMANDS = (HEALTH, ORDERS, TOKEN, CALENDAR)
ASK_SECONDS = 5.0
"""Seconds that the token actor has for its answer, as for the route."""


@attrs.frozen(kw_only=True)
class Readings:
    """What these commands read."""

    health: Callable[[], Mapping[str, object]]
    """Makes the document of `GET /api/health`."""
    documents: Mapping[Resource, Published[DocumentState | None]]
    store: Store
    token_actor: Address[TokenMessage]
    has_credentials: bool
    """Whether the settings hold the API key and the API secret; without them there is no access token."""
    calendar: Calendar
    clock: Clock


async def answer(request: Mapping[str, str], readings: Readings) -> dict[str, Any]:
    """Answer one of the commands."""
    match request["command"]:
        case "health":
            return {"done": readings.health()}
        case "orders":
            return await _orders(request, readings)
        case "calendar":
            return {"done": {"line": calendar_line(readings.calendar, readings.clock.today())}}
        case _:
            return await _token(readings)


async def _orders(request: Mapping[str, str], readings: Readings) -> dict[str, Any]:
    """Answer `{"orders": …, "parents": …}`, each the API's document, or `{"error": sentence}` where it cannot be read."""
    given = request.get("parent")
    try:
        parent_id = None if given is None else uuid_text(given, texts.PARENT_NAME)
        parents = await _parents(readings.store, parent_id)
    except Refusal as refusal:
        return {"error": refusal.sentence}
    return {"done": {"orders": _book(readings, parent_id), "parents": parents}}


def _book(readings: Readings, parent_id: str | None) -> msgspec.Raw | dict[str, str]:
    held = readings.documents.get("orders")
    try:
        state = servable(READ_RULES["orders"], None if held is None else held.value, readings.clock.epoch())
    except Refusal as refusal:
        return {"error": refusal.sentence}
    body = state.body if parent_id is None else filtered_body(state, "orders", BookFilter(parent_id=parent_id))
    return msgspec.Raw(body)


async def _parents(store: Store, parent_id: str | None) -> dict[str, Any]:
    """Return the open parents, or the named one. Raises Refusal 404 for an unknown parent."""
    try:
        if parent_id is None:
            return await open_parents(store)
        parent = await stored_parent(store, parent_id)
    except StoreError as error:
        return {"error": texts.redis_unreadable(str(error))}
    except Unreadable:
        return {"error": texts.parent_unreadable(str(parent_id))}
    if parent is None:
        raise Refusal(404, texts.NO_PARENT)
    return {"parents": [parent]}


async def _token(readings: Readings) -> dict[str, Any]:
    if not readings.has_credentials:
        return {"error": session.CREDENTIALS_NOT_CONFIGURED}
    try:
        row: AccessToken = await readings.token_actor.ask(lambda reply: Connect(reply=reply), ASK_SECONDS)
    except (Refusal, ActorNotRunning, AskTimedOut) as error:
        return {"error": str(error)}
    return {"done": {"access-token": row.token, "expires_at": row.expires_at}}
