"""Orders for a load: many small ones over some minutes through the default choice, changed and cancelled in between. Made once, by dice of
their own, so that a day in one process and a demo over HTTP do the same."""

import random
from collections.abc import Iterator, Sequence

import attrs

SECONDS = 600.0
ORDERS = 500
SHARES = 40
ROOM_PERCENT = 6.5
"""Between a share's last price and its price band, so that no order is beyond it."""
DEARER = ("angelone", "fyers", "fivepaisa", "groww", "icicidirect")
"""Brokers whose small orders cost a rupee more than the cheapest's, so that the choice seldom or never comes to them."""
PINNED_EACH = 10
"""Orders for each of those: its way is measured too."""
LATER_SECONDS = (2.0, 45.0)
"""Between two steps of one order."""


@attrs.frozen(kw_only=True)
class Step:
    """A change of an order, so many seconds after the step before."""

    verb: str
    """`price`, `trigger`, `quantity` or `cancel`."""
    after: float
    percent: float = 0.0
    """Of the new price or trigger, from the last price."""
    quantity: int = 0


@attrs.frozen(kw_only=True)
class Ordered:
    number: int
    at: float
    """Seconds from the beginning."""
    share: int
    side: str
    product: str
    order_type: str
    percent: float
    """Of the price (of SL: of the trigger) from the last price: so far that it rests, but for those of MARKET."""
    quantity: int
    broker: str | None
    steps: tuple[Step, ...]


def order_mix(
    count: int = ORDERS, seconds: float = SECONDS, *, pinned: Sequence[str] = DEARER, seed: int = 1
) -> list[Ordered]:
    """Return the orders by the time they are sent: one in eight at market, the others rest, a third of these with a trigger. Of those
    that rest two thirds are changed, some twice, and half are cancelled in the end. `pinned` get PINNED_EACH each,
    in proportion."""
    dice = random.Random(seed)
    each = max(1, PINNED_EACH * count // ORDERS)
    pins = {number * count // (len(pinned) * each): code for number, code in enumerate([*pinned] * each)}
    return [_ordered(number, number * seconds / count, pins.get(number), dice) for number in range(count)]


def _ordered(number: int, at: float, broker: str | None, dice: random.Random) -> Ordered:
    product = "CNC" if broker is not None else dice.choice(("CNC", "CNC", "MIS", "MIS"))
    side = "SELL" if product == "MIS" and dice.random() < 0.4 else "BUY"
    order_type = dice.choice(("MARKET", *["LIMIT"] * 5, *["SL"] * 2)) if broker is None else "LIMIT"
    away = dice.uniform(2.5, 4.0) * (1 if order_type == "LIMIT" else -1)
    sign = -1 if side == "BUY" else 1
    quantity = dice.randint(2, 4)
    steps = () if order_type == "MARKET" else tuple(_steps(order_type, sign, quantity, dice))
    return Ordered(
        number=number, at=at + dice.uniform(0, 0.8), share=dice.randrange(SHARES), side=side, product=product, order_type=order_type,
        percent=round(sign * away, 3), quantity=quantity, broker=broker, steps=steps,
    )  # fmt: skip


def _steps(order_type: str, sign: int, quantity: int, dice: random.Random) -> Iterator[Step]:
    for _ in range(dice.choice((0, 1, 2))):
        verb = dice.choice(("price", "quantity")) if order_type == "LIMIT" else "trigger"
        away = dice.uniform(2.0, 4.5) * (1 if order_type == "LIMIT" else -1)
        quantity += verb == "quantity"
        yield Step(verb=verb, after=dice.uniform(*LATER_SECONDS), percent=round(sign * away, 3), quantity=quantity)
    if dice.random() < 0.5:
        yield Step(verb="cancel", after=dice.uniform(*LATER_SECONDS))
