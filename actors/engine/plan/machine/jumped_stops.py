"""Stops that guard nothing although they rest: the market has jumped over their limit (order-engine 1.11). Pure.

A stop-limit that is triggered while the market is past its limit rests as a plain limit order where nobody trades. Three things tell it:

    the usable quote     its last price is past the limit. Where the feeds say nothing of the instrument, quotes over REST take their place
                         (`Look.guarded`: the quote book asks for them every 15 s, many instruments in one call)
    the broker's book    it shows the stop triggered and not filled (`Leg.triggered_at`), and no quote has come since then: then the old quote is
                         of no use. The instrument is asked for over REST at once; as long as nobody answers, the stop guards nothing
    what was said        without a usable quote it is as it was said to be: a quote that is late does not bring the market back

A stop that the engine itself watches may have a limit too (a `close_on_trigger`, a gtt that closes). Once it has fired it is the same: the market past its
limit, nobody trades there, whether its order rests or is held back.

An order that is to be filled at once and rests at an empty side guards nothing either (`note_unmatched`), nor does a stop whose trigger the book shows.

Where the book does not show it and no quote can be had, nothing is said: a share that nobody trades looks the same, and its stop is at the
exchange, which needs no quote of ours.
"""

from collections.abc import Iterable

from onebroker.actors.engine.plan.machine.conditions import direction_of
from onebroker.actors.engine.plan.machine.leg_actions import Leg
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.overdue import block
from onebroker.actors.engine.plan.market import Calm
from onebroker.actors.engine.plan.parts import Direction, OrderPart, PriceAt
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable, is_stop, uncapped
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side

QUOTE_SECONDS = 2.5
"""How long after the last word of the market a stop that its book shows triggered waits for the next tick, before a quote over REST is asked for. An
answer that comes sooner could be of the same moment as that tick (`SAME_MOMENT_SECONDS` of the quote book), and would not count."""


def is_jumped(look: Look, part: OrderPart, leg: Leg) -> bool:
    """Whether a stop's order rests where nobody trades, and so guards nothing."""
    return _why_no_guard(look, part, leg) is not None


def note_jumped(look: Look, part: OrderPart) -> None:
    """Say that a stop was jumped over: its order rests as a limit behind the market, or went out as such a limit."""
    legs = [leg for leg in look.live(part) if leg.price is not None and leg.accepted]
    if not legs or not is_stop(part.price) or look.record(part).marketable:
        return
    for leg in legs:
        why = _why_no_guard(look, part, leg)
        if why is not None:
            blind = part.instrument_id if _is_untold(look, part, leg) else None
            block(look, part, why, blind=blind, gravest=True)  # a trail without a price is told as jumped over
        _note_calm(look, part, leg, jumped=why is not None)
        if leg.triggered_at is not None:
            look.seen(part.instrument_id)  # whether somebody is on the other side may change with any quote


def note_passed(look: Look, part: OrderPart) -> None:
    """Say that the market is past the limit of an exit that a falling market (a rising one, for a BUY) has fired."""
    price = part.price
    if not isinstance(price, Fixed) or not _limits_a_loss(look, part) or not look.record(part).fired:
        return
    record = look.record(part)
    limit = price.price if record.price is None else record.price
    quote = look.glimpsed(part.instrument_id)
    if quote is None or quote.last_price is None:
        return
    is_past = (quote.last_price - limit) * side_of(part).sign > 0
    if is_past:
        block(look, part, texts.jumped_over(limit), gravest=True)
    if side_of(part) is Side.SELL:
        look.stays(part.instrument_id, Calm(below=limit) if is_past else Calm(least=limit))
    else:
        look.stays(part.instrument_id, Calm(above=limit) if is_past else Calm(most=limit))


def note_unmatched(look: Look, part: OrderPart, legs: Iterable[Leg]) -> None:
    """Say that an exit or a hedge that is to be filled at once rests, because nobody is on the other side: it has left, and its units are open all the
    same. (A price that a caller chose may rest as long as he likes.)"""
    price = uncapped(part.price)
    if isinstance(price, Marketable) or look.record(part).marketable:
        why = nobody_takes(look, part.instrument_id, side_of(part), legs)
        if why is not None:
            block(look, part, why, blind=part.instrument_id, gravest=True)


def nobody_takes(look: Look, instrument_id: str, side: Side, legs: Iterable[Leg]) -> str | None:
    """Return why orders that are to be filled at once rest; None where somebody is on the other side, or nothing is known of it."""
    resting = [leg for leg in legs if leg.live and leg.accepted and leg.unfilled and leg.trigger is None]
    quote = look.glimpsed(instrument_id) if resting else None
    if quote is None or not quote.tells_depth or quote.against(side):
        return None
    return texts.nobody_takes(side, resting[0].price)


def _limits_a_loss(look: Look, part: OrderPart) -> bool:
    """Whether an exit waits for its own instrument to move against the position."""
    when = part.when
    if not part.is_exit or not isinstance(when, PriceAt) or when.instrument_id != part.instrument_id:
        return False
    against = Direction.BELOW if side_of(part) is Side.SELL else Direction.ABOVE
    return direction_of(look.record(part), when) is against


def _why_no_guard(look: Look, part: OrderPart, leg: Leg) -> str | None:
    """Return why a stop's order guards nothing; None when it guards, and when nothing tells that it does not."""
    if leg.price is None or leg.filled == leg.quantity:
        return None
    over = texts.jumped_over(leg.price)
    quote = look.market.seen(part.instrument_id)
    priced = quote is not None and quote.last_price is not None
    if priced and _is_past(look, part, leg):
        return over
    if _is_untold(look, part, leg):
        return texts.triggered_unfilled(leg.price)
    if leg.triggered_at is not None and quote is not None and quote.tells_depth and not quote.against(side_of(part)):
        return texts.nobody_takes(side_of(part), leg.price)
    return over if not priced and look.record(part).held_up == over else None


def _is_past(look: Look, part: OrderPart, leg: Leg) -> bool:
    """Whether the last price is past the order's limit."""
    quote = look.market.seen(part.instrument_id)
    assert quote is not None
    assert quote.last_price is not None
    assert leg.price is not None
    return (quote.last_price - leg.price) * side_of(part).sign > 0


def _is_untold(look: Look, part: OrderPart, leg: Leg) -> bool:
    """Whether the broker's book shows the stop triggered and unfilled, and nobody has told the market's price since. The next tick has its time."""
    told_at = look.market.told_at(part.instrument_id)
    if leg.triggered_at is None or told_at >= leg.triggered_at:
        return False
    due = max(leg.triggered_at, told_at + QUOTE_SECONDS)
    look.wake(due)
    return look.now >= due


def _note_calm(look: Look, part: OrderPart, leg: Leg, *, jumped: bool) -> None:
    """Note within which last prices that stays so."""
    if look.glimpsed(part.instrument_id) is None:
        return
    if side_of(part) is Side.SELL:
        look.stays(part.instrument_id, Calm(below=leg.price) if jumped else Calm(least=leg.price))
    else:
        look.stays(part.instrument_id, Calm(above=leg.price) if jumped else Calm(most=leg.price))
