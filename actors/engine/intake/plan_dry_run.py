"""Dry run of a plan: the tree as it would be worked, and each order that its start would send (order-engine 5.4). Nothing is sent, written or
counted."""

from typing import Any

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import EngineAnswer, Place
from onebroker.actors.engine.intake.dry_run import shown_order, shown_request, would_send
from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.engine.parent.answers import milliseconds
from onebroker.actors.engine.plan.machine.advance import Outcome, advance
from onebroker.actors.engine.plan.machine.leg_actions import NewLeg
from onebroker.actors.engine.plan.machine.look import Inputs
from onebroker.actors.engine.plan.parts import OrderPart, Part, walk
from onebroker.actors.engine.plan.price_kinds import OptionModel, uncapped
from onebroker.actors.engine.plan.shown_tree import shown_plan
from onebroker.actors.engine.plan_parent.leg_conversion import order_of
from onebroker.actors.engine.plan_parent.plan_market import PlanMarket
from onebroker.actors.engine.shown.plan_answers import trigger_of, unpriced
from onebroker.config.messages import orders as texts
from onebroker.config.messages import plan_life as life_texts


async def plan_dry_run(place: Place, root: Part, context: EngineContext) -> EngineAnswer:
    """Answer with what the plan's start would send, or with the refusal it would get."""
    looked = advance(root, Inputs(parts={}, legs=(), market=PlanMarket(context, ())))
    requests: list[dict[str, Any]] = []
    warnings = _warnings(root, context)
    for number, action in enumerate(looked.actions):
        if isinstance(action, NewLeg):
            shown = await _would_send(place, action, number, context)
            if isinstance(shown, EngineAnswer):
                return EngineAnswer(status=shown.status, body={**shown.body, "intent_id": place.intent_id})
            request, said = shown
            requests.append(request)
            warnings += [sentence for sentence in said if sentence not in warnings]
    refused = None if requests else unpriced(root, looked)
    if refused is not None:
        error = {"error": refused.sentence, "instrument_id": place.order.instrument.instrument_id}
        return EngineAnswer(status=refused.status, body={**error, "intent_id": place.intent_id})
    body = {
        "dry_run": True,
        "instrument_id": place.order.instrument.instrument_id,
        "tag": place.order.tag,
        "synthetic_type": "plan",
        "routed_from": place.order.routed_from,
        "plan": shown_plan(root),
        "requests": requests,
        **({} if requests else _trigger(root, looked)),
        **({"warnings": warnings} if warnings else {}),
        "timing_ms": {"preparation": milliseconds(context.clock.monotonic() - place.routed)},
        "intent_id": place.intent_id,
    }
    return EngineAnswer(status=200, body=body)


def _warnings(root: Part, context: EngineContext) -> list[str]:
    """Return warnings about settings that are allowed but rarely intended: an option priced from a spot. Its forward is only as good as the given
    rate."""
    market = PlanMarket(context, ())
    prices = [uncapped(part.price) for part in walk(root) if isinstance(part, OrderPart)]
    watched = {price.watch_instrument_id for price in prices if isinstance(price, OptionModel)}
    return (
        [life_texts.PRICED_FROM_SPOT] if any(not market.is_future(instrument_id) for instrument_id in watched) else []
    )


async def _would_send(
    place: Place, new: NewLeg, number: int, context: EngineContext
) -> tuple[dict[str, Any], tuple[str, ...]] | EngineAnswer:
    """Return the request of one order and the warnings about it, or the refusal it would get."""
    latest = context.catalogue.value.latest
    instrument = None if latest is None else latest.instrument(new.instrument_id)
    if instrument is None:
        return EngineAnswer(status=503, body={"error": texts.NO_BROKER})
    order = order_of(new, instrument, closes=place.order.closes_position)
    would = await would_send(order, leg_token(place.intent_id, new.part, number, context.writes.run), context)
    if isinstance(would, EngineAnswer):
        return would
    cost = would.candidate.cost
    shown = {
        "path": new.part,
        "broker": would.candidate.broker.code,
        "request": shown_request(would.request),
        "order": shown_order(would.candidate.order),
        "estimated_cost": None if cost is None else cost.shown(),
        "skipped": [{"broker": skip.broker, "reason": skip.reason} for skip in would.skipped],
    }
    return shown, would.warnings


def _trigger(root: Part, looked: Outcome) -> dict[str, Any]:
    for part in walk(root):
        trigger = trigger_of(part, looked.parts[part.path])
        if trigger:
            return trigger
    return {}
