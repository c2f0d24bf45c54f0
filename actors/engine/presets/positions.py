"""What the types that close positions share (order-engine 1.3, 3.9, 3.44, 3.45). Pure; raises Refusal 409 and 503."""

from collections.abc import Sequence

from onebroker.actors.engine.orders.part_state import Holding
from onebroker.actors.engine.plan.held import Positions
from onebroker.actors.engine.plan.parts import Direction, FromPosition
from onebroker.actors.engine.plan.reading.conditions import POSITION_PRODUCTS, read_instruments
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import choice
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.portfolio.position_view import position_product
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets_exits as exit_texts


def of_the_body(body: Body, *, ratio: int = 1, cancel_resting_first: bool) -> FromPosition:
    """Return the position in the body's instrument and product. If the body gives a quantity, at most that many units are used."""
    return FromPosition(
        product=position_product(body.defaults.product or ""),
        instrument_ids=(body.instrument.instrument_id,),
        ratio=ratio,
        cancel_resting_first=cancel_resting_first,
        most=body.quantity,
    )


def found(body: Body, positions: Positions, form: FromPosition, sentence: str) -> tuple[tuple[Holding, int], ...]:
    """Return the position rows; Refusal 409 with `sentence` where there is none, 503 where that cannot be known."""
    rows = positions.of(form)
    if not rows and positions.unread:
        raise body.refusal(exit_texts.positions_unread(positions.unread[0]), 503)
    if not rows:
        raise body.refusal(sentence, 409)
    return rows


def against(body: Body, rows: Sequence[tuple[Holding, int]]) -> Direction:
    """Return the direction in which the market goes against a position: below for a long, above for a short one. Positions on both sides are
    refused (N1)."""
    if len({net > 0 for _, net in rows}) > 1:
        raise body.refusal(texts.is_required("trigger_direction"))
    return Direction.BELOW if rows[0][1] > 0 else Direction.ABOVE


def read_products(fields: Fields, field: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Read a list of position products, each once."""
    if not fields.has(field):
        return default
    items = fields.items(field, 1, len(POSITION_PRODUCTS))
    rule = choice(POSITION_PRODUCTS)
    return tuple(dict.fromkeys(fields.judge(rule, item, f"{field}.{n}") for n, item in enumerate(items)))


def read_product(fields: Fields, field: str) -> str | None:
    return fields.optional(field, choice(POSITION_PRODUCTS), None)


def read_of_which(fields: Fields, body: Body) -> tuple[tuple[str, ...], bool]:
    """Read `instrument_ids` (the body's when left out) and `every_instrument`, not both."""
    if fields.has("instrument_ids") and fields.given.get("every_instrument") is True:
        raise fields.refusal(texts.not_both("instrument_ids", "every_instrument"))
    ids, every = read_instruments(fields, body.world)
    return (ids if ids or every else (body.instrument.instrument_id,)), every
