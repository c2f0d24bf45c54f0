"""Dry run of place: all checks and the choice are made and the request is built; nothing is sent, written or counted (order-engine 5.4)."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import attrs
import msgspec

from onebroker.actors.engine.choice.broker_checks import Candidate, Skipped
from onebroker.actors.engine.choice.choose import by_code, none_left
from onebroker.actors.engine.choice.leg_order import LegOrder, placed_order
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import EngineAnswer, Place
from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.engine.parent.answers import milliseconds
from onebroker.actors.engine.placing.margin_choice import choose_asking
from onebroker.actors.engine.placing.seats import ticket
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.config.messages import orders as texts

_INSTRUMENT_NAMES = ("instrument_token", "symboltoken")
"""Brokers' names for an instrument's token, which is not secret."""
_SECRET_NAMES = ("token", "key", "secret", "checksum", "pin", "totp", "password")


@attrs.frozen(kw_only=True)
class Would:
    """The order that would be sent, and the brokers that were passed over for it."""

    candidate: Candidate
    request: WireRequest
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...] = ()
    """What the caller should know: a position that the order opens beside units held at other brokers."""


async def would_send(order: LegOrder, token: str, context: EngineContext) -> Would | EngineAnswer:
    """Return what would be sent for one order with the brokers' present state, or the refusal it would get."""
    choice = await choose_asking(order, context)
    skipped = list(choice.skipped)
    for candidate in choice.candidates:
        code, access = candidate.broker.code, candidate.view.access
        if access is None:
            skipped.append(Skipped(code, texts.no_login(code)))
            continue
        try:
            request = candidate.broker.orders.place_request(access, ticket(candidate, token), context.clock.now())
        except NotSendable as error:
            skipped.append(Skipped(code, str(error)))
            continue
        return Would(candidate=candidate, request=request, skipped=by_code(skipped), warnings=choice.warnings(code))
    return none_left(choice, skipped)


async def dry_run(place: Place, context: EngineContext) -> EngineAnswer:
    """Answer with what a simple order would send, or with the refusal it would get."""
    would = await would_send(
        placed_order(place.order), leg_token(place.intent_id, "entry", 0, context.writes.run), context
    )
    if isinstance(would, EngineAnswer):
        return EngineAnswer(status=would.status, body={**would.body, "intent_id": place.intent_id})
    cost = would.candidate.cost
    body = {
        "dry_run": True,
        "broker": would.candidate.broker.code,
        "instrument_id": place.order.instrument.instrument_id,
        "tag": place.order.tag,
        "request": shown_request(would.request),
        "order": shown_order(would.candidate.order),
        "estimated_cost": None if cost is None else cost.shown(),
        "skipped": [{"broker": skip.broker, "reason": skip.reason} for skip in would.skipped],
        **({"warnings": list(would.warnings)} if would.warnings else {}),
        "timing_ms": {"preparation": milliseconds(context.clock.monotonic() - place.routed)},
        "intent_id": place.intent_id,
    }
    return EngineAnswer(status=200, body=body)


def shown_request(request: WireRequest) -> dict[str, Any]:
    """Return a request that may be shown to a caller: method, URL and body without secrets; headers are never shown."""
    return {"method": request.method, "url": shown_url(request.url), "body": _shown_body(request)}


def shown_url(url: str) -> str:
    """Return a URL without query parameters that may carry a secret."""
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if not _secret(name)]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(kept), ""))


def _shown_body(request: WireRequest) -> object:
    if not request.body:
        return None
    try:
        decoded = msgspec.json.decode(request.body)
    except msgspec.DecodeError:
        decoded = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
    return _without_secrets(decoded)


def _without_secrets(value: object) -> object:
    """Return a decoded body without members that may carry a secret, at any depth."""
    match value:
        case dict():
            return {name: _without_secrets(inner) for name, inner in value.items() if not _secret(str(name))}
        case list():
            return [_without_secrets(inner) for inner in value]
    return value


def _secret(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in _SECRET_NAMES) and lowered not in _INSTRUMENT_NAMES


def shown_order(order: LegOrder) -> dict[str, Any]:
    return {
        "transaction_type": order.transaction_type,
        "product": order.product,
        "order_type": order.order_type,
        "validity": order.validity,
        "quantity": order.quantity,
        "price": order.price,
        "trigger_price": order.trigger_price,
    }
