"""Prices taken from the book: marketable, peg, and the cost of crossing (order-engine 1.4, 3.29). Pure."""

from collections.abc import Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Level, Seen, Terms
from onebroker.actors.engine.plan.price_kinds import Marketable, Peg, Touch
from onebroker.config.vocabulary import Side


def past_touch(price: Marketable, side: Side, quantity: int, quote: Seen, terms: Terms) -> Decimal | None:
    """Return the limit `buffer_ticks` past the opposite touch, or past the level that `quantity` reaches; None = that side is empty."""
    against = quote.against(side)
    if not against:
        return None
    touch = _deepest(against, quantity) if price.reaches_size else against[0].price
    return beyond(touch, side, price.buffer_ticks, terms)


def beyond(touch: Decimal, side: Side, ticks: int, terms: Terms) -> Decimal:
    """Return the price `ticks` ticks past `touch` towards trading, snapped to the tick."""
    return terms.towards(touch + side.sign * ticks * (terms.tick or Decimal(0)), side)


def _deepest(levels: Sequence[Level], quantity: int) -> Decimal:
    """Return the price of the level that completes `quantity`, or of the deepest level shown."""
    reached = 0
    for level in levels:
        reached += level.quantity
        if reached >= quantity:
            return level.price
    return levels[-1].price


def visible(quote: Seen, side: Side) -> int:
    """Return the units on the shown levels that the order would trade against."""
    return sum(level.quantity for level in quote.against(side))


def crossing_cost_bps(quote: Seen, side: Side, quantity: int) -> Decimal | None:
    """Return the cost of filling `quantity` from the visible book, measured from the middle, in hundredths of a percent.

    None where the book has no middle, or does not show `quantity`.
    """
    middle = quote.mid
    if not middle or visible(quote, side) < quantity:
        return None
    left, paid = quantity, Decimal(0)
    for level in quote.against(side):
        taken = min(left, level.quantity)
        left, paid = left - taken, paid + taken * level.price
    return abs(paid / quantity - middle) / middle * 10_000


def without_own(levels: Sequence[Level], own: Level | None) -> tuple[Level, ...]:
    """Return one side of the book, without our own order's level where our order is alone there."""
    if own is None:
        return tuple(levels)
    return tuple(level for level in levels if level.price != own.price or level.quantity > own.quantity)


def pegged(
    price: Peg,
    side: Side,
    quote: Seen,
    terms: Terms,
    *,
    own: Level | None = None,
    across: Sequence[Level] = (),
    shift: Decimal = Decimal(0),
    centre: Decimal | None = None,
) -> Decimal | None:
    """Return the price of a peg, clipped at its cap and snapped to the passive tick; None while the book has no such price.

    `own` is our resting order, `across` are our resting orders on the other side. `shift` (rupees) moves the whole rule, for a
    caller's own price or an inventory skew. `centre` is used instead of the touch.
    """
    level = peg_level(price, side, quote, terms, own=own, across=across, centre=centre)
    if level is None:
        return None
    wanted = level + shift
    if price.cap_price is not None:
        wanted = clip(wanted, side, price.cap_price)
    theirs = _others(quote, side, across)
    if price.passive and theirs:
        wanted = clip(wanted, side, theirs[0].price - side.sign * (terms.tick or Decimal(0)))
    return terms.passive(wanted, side)


def peg_level(
    price: Peg,
    side: Side,
    quote: Seen,
    terms: Terms,
    *,
    own: Level | None = None,
    across: Sequence[Level] = (),
    centre: Decimal | None = None,
) -> Decimal | None:
    """Return the price of the peg rule itself: not shifted, not clipped, not snapped. Parameters as in `pegged`."""
    mine = without_own((quote.buy if side is Side.BUY else quote.sell) or (), own)
    reference = _reference(price.reference, mine, _others(quote, side, across)) if centre is None else centre
    return None if reference is None else reference - side.sign * price.offset_ticks * (terms.tick or Decimal(0))


def _others(quote: Seen, side: Side, across: Sequence[Level]) -> Sequence[Level]:
    """Return the other side of the book without our own resting orders."""
    theirs: Sequence[Level] = quote.against(side)
    for ours in across:
        theirs = without_own(theirs, ours)
    return theirs


def _reference(reference: Touch, mine: Sequence[Level], theirs: Sequence[Level]) -> Decimal | None:
    match reference:
        case Touch.OWN_TOUCH:
            return mine[0].price if mine else None
        case Touch.OPPOSITE_TOUCH:
            return theirs[0].price if theirs else None
    return (mine[0].price + theirs[0].price) / 2 if mine and theirs else None


def clip(price: Decimal, side: Side, worst: Decimal) -> Decimal:
    """Return `price`, never past `worst` (BUY above, SELL below)."""
    return min(price, worst) if side is Side.BUY else max(price, worst)


def on_touch(quote: Seen, side: Side, limit: Decimal) -> bool:
    """Whether the market has reached a held limit (order-engine 1.9): the opposite touch or the last price is at or past it."""
    reached = [value for value in (quote.opposite(side), quote.last_price) if value is not None]
    return any((value - limit) * side.sign <= 0 for value in reached)


@attrs.frozen(kw_only=True)
class Striking:
    """An immediate order for the shown quantity: its price and units."""

    price: Decimal
    quantity: int


def within_reach(quote: Seen, side: Side, limit: Decimal, terms: Terms) -> Striking | None:
    """Return the quantity that the book shows at `limit` or better, in whole lots, and its worst price; None when there is no whole lot."""
    shown = [level for level in quote.against(side) if (level.price - limit) * side.sign <= 0]
    quantity = terms.whole_lots(sum(level.quantity for level in shown))
    return Striking(price=shown[-1].price, quantity=quantity) if quantity else None
