"""What the types that close positions share (order-engine 1.3, 3.9, 3.44, 3.45). Pure; raises Refusal 400,
404, 409 and 503."""

from collections.abc import Sequence

from onebroker.actors.engine.orders.part_state import Holding
from onebroker.actors.engine.plan.net_positions import Positions
from onebroker.actors.engine.plan.parts import Direction, FromPosition
from onebroker.actors.engine.plan.reading.conditions import MOST_INSTRUMENTS, POSITION_PRODUCTS, read_instruments
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind, choice, uuid
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.settings import OwnReading, Reading, own_reading
from onebroker.actors.portfolio.position_view import position_product
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets_exits as exit_texts

POSITION_PRODUCT = choice(POSITION_PRODUCTS)
INSTRUMENT_IDS = Accepts(kind=Kind.LIST, least=1, most=MOST_INSTRUMENTS, item=uuid.accepts)


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


def products(default: tuple[str, ...]) -> OwnReading[tuple[str, ...]]:
    """Return the reading of a list of position products, each kept once."""

    @own_reading(
        Accepts(kind=Kind.LIST, least=1, most=len(POSITION_PRODUCTS), item=POSITION_PRODUCT.accepts), required=False
    )
    def read(reading: Reading, name: str) -> tuple[str, ...]:
        fields = reading.fields
        if not fields.has(name):
            return default
        items = fields.items(name, 1, len(POSITION_PRODUCTS))
        judged = (fields.judge(POSITION_PRODUCT, item, f"{name}.{n}") for n, item in enumerate(items))
        return tuple(dict.fromkeys(judged))

    return read


@own_reading(INSTRUMENT_IDS, required=False)
def named_or_own(reading: Reading, _: str) -> tuple[str, ...]:
    """Read `instrument_ids`, by default the order's own instrument; empty with `every_instrument`."""
    ids, every = read_instruments(reading.fields, reading.body.world)
    return ids if ids or every else (reading.body.instrument.instrument_id,)


def check_not_both(reading: Reading) -> None:
    """Refuse `every_instrument` together with `instrument_ids`."""
    if reading["every_instrument"] and reading.fields.has("instrument_ids"):
        raise reading.fields.refusal(texts.not_both("instrument_ids", "every_instrument"))
