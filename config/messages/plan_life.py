"""What a plan reports of its life: why a part waits, was refused or ended (order-engine 1 to 3; rules 2.8)."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from onebroker.config.money import plain
from onebroker.config.vocabulary import Side

NO_QUOTE_FOR_CONDITION = "no live quote exists for the instrument that is watched"
NO_ACCOUNT_FIGURES = "the account figures are not available, so a direction could not be taken"
PRICED_FROM_SPOT = (
    "the watched instrument is no future: the option is priced from its spot and interest_rate alone, which leaves dividends and the market's "
    "own forward out; watch the future of the same expiry instead"
)
TRIGGERED_NOT_REACHED = "its condition came true, but the market did not reach its limit in time, so nothing was sent"
NO_POSITION = "there was no open position to close"
CANCEL_REFUSED = "the cancel of a resting order was refused"
NO_FIGURES = "the account figures of the condition are not available"
EXPOSURE_UNPRICED = "no live quote exists for an instrument of the exposure, so the hedge cannot be worked out"
NO_PRICE = "no price is known for this order"
TRAIL_BLIND = "no live quote exists for this instrument, so its stop does not follow the market"


def joint_untold(brokers: Iterable[str]) -> str:
    """A condition on a joint result waits for every broker that holds a part of it (3.45)."""
    return f"{_unreadable(brokers)}, so their joint profit or loss is not known"


def exposure_untold(brokers: Iterable[str]) -> str:
    """3.15."""
    return f"{_unreadable(brokers)}, so the exposure is not known and not hedged"


def _unreadable(brokers: Iterable[str]) -> str:
    return f"the positions of {', '.join(sorted(brokers))} cannot be read"


def figures_unread(brokers: Sequence[str]) -> str:
    """Ours: a condition on a figure of the account, while a broker that has told its part today does not answer."""
    return f"{', '.join(brokers)} cannot be read, so a condition on the account is judged by old figures of that broker"


def result_untold(brokers: Sequence[str]) -> str:
    """A condition on the day's profit or loss counts every broker that answers."""
    return f"no profit or loss of the day is told at {', '.join(brokers)}, so a condition on it waits"


def parts_untold(brokers: Sequence[str]) -> str:
    """Of these the whole may be known."""
    return f"how much of the day's profit and loss is realized is not told at {', '.join(brokers)}, so a condition on it waits"


def no_quote(side: Side) -> str:
    return f"no live quote exists for this instrument, so the {side.value} could not be priced and nothing was sent"


def average_untold(broker: str) -> str:
    """Ours: for an exit whose price is measured from the price at which its entry filled."""
    return f"{broker} does not tell at which price the entry filled, so an exit that is measured from it waits"


def stale_quote(side: Side) -> str:
    return f"the live quote of this instrument is stale, so the {side.value} could not be priced and nothing was sent"


def no_depth(side: Side) -> str:
    """The quote is there, and its feed has sent no book. So it is not known whether the book has a side to trade against."""
    return f"the live quote of this instrument tells no depth, so the {side.value} could not be priced and nothing was sent"


def would_cross(side: Side, price: Decimal, touch: Decimal) -> str:
    """3.37."""
    return f"post_only_crosses: a {side.value} at {plain(price)} would trade at once against {plain(touch)}, so nothing was sent"


def nobody(side: Side) -> str:
    """The other side of the book is empty (rules 2.8)."""
    doing = "offering" if side is Side.BUY else "bidding for"
    return f"nobody is {doing} this instrument, so the {side.value} could not be priced and nothing was sent"


def nobody_takes(side: Side, price: Decimal | None) -> str:
    """Ours: an order that is to be filled at once has left, and the other side of the book is empty."""
    doing = "offering" if side is Side.BUY else "bidding for"
    where = "" if price is None else f" at {price}"
    return f"nobody is {doing} this instrument, so the {side.value}{where} rests and is not filled"


def not_deep_enough(shown: int, quantity: int) -> str:
    return f"the visible depth holds {shown} of {quantity}, so maximum_cost_bps could not be kept and nothing was sent"


def crossing_costs(cost: Decimal, most: Decimal) -> str:
    """In hundredths of a percent."""
    return (
        f"crossing the spread would cost {cost:.2f} bps, which is more than maximum_cost_bps {plain(most)}, "
        "so nothing was sent"
    )


def not_a_price(price: Decimal) -> str:
    """Ours, as in 3.18."""
    return f"the stop would stand at {plain(price)}, which is not a price an order can carry"


def fell_through(trigger: Decimal, side: Side) -> str:
    """A stop that was to be moved to `trigger`; `side`: its own."""
    went = "fell" if side is Side.SELL else "rose"
    return f"the market {went} through the stop's new trigger {plain(trigger)} before it stood there, so it goes at the market"


def not_listed(name: str) -> str:
    """Ours. `name`: the symbol or the contract."""
    return f"{name} is not in today's list of instruments"


def not_listed_at(broker: str, name: str) -> str:
    """Ours: a position that the list does not name may be in the instrument. `name`: the symbol or the contract."""
    return f"{broker} does not list {name} today and shows a position that may be in it, so nothing was closed there"


def not_known_yet(broker: str, name: str) -> str:
    """Ours: the same while the list is still of an earlier day, and an exchange may have changed the contract."""
    return f"{broker} shows a position that may be in {name} under a new name, and today's instruments are not read yet, so nothing was closed there"


def contract_over(name: str) -> str:
    """Ours."""
    return f"{name} has expired"


def corporate_action(name: str) -> str:
    """Why a part that waited over days was cancelled."""
    return f"{name} has a corporate action today"


def scaled(name: str) -> str:
    """Ours."""
    return f"{name} has a corporate action today: prices and units are scaled by its factor"


def jumped_over(limit: Decimal) -> str:
    """Ours."""
    return f"the market is past the limit {plain(limit)} of the stop, so its order guards nothing"


def triggered_unfilled(limit: Decimal) -> str:
    """No feed has told the market's price since then, and no broker answers for a quote (ours)."""
    return f"the stop with the limit {plain(limit)} has triggered and has not filled, and the market's price is not known, so its order guards nothing"


_OVER_STOP = re.compile(r"(the market is past the limit|the stop with the limit) \S+ .*so its order guards nothing$")


def is_over_stop(reason: str | None) -> bool:
    """Whether a reason is `jumped_over` or `triggered_unfilled`."""
    return reason is not None and _OVER_STOP.match(reason) is not None


def holds_less(broker: str, held: int, units: int) -> str:
    """A position has become smaller without the plan that guards it (ours)."""
    return f"{broker} holds {held} of the {units} units that this order guards"


def holder_unread(broker: str) -> str:
    """Ours: an exit without a broker, of units that this broker may hold."""
    return (
        f"the positions of {broker} have not been read since the start, and it may hold what this exit closes, so nothing was sent: "
        "a login there lets it go on"
    )


def holder_without_listing(broker: str) -> str:
    """Ours: the same, of a broker whose list has lost the instrument."""
    return (
        f"{broker} does not list this instrument now, and holds a position that may be of it, so nothing was sent: "
        "close it in the broker's app, or wait for the next list"
    )


def holder_left_out(broker: str) -> str:
    """Ours: the same, of a broker that was used today and that the settings do not name."""
    return (
        f"the settings leave out {broker}, which may hold what this exit closes, so nothing was sent: "
        "put the broker into the settings again, or close the units in its app and cancel this exit"
    )


NOTHING_LEFT_YET = "what is held is spoken for by other orders of this exit, or not shown yet, so nothing was sent"


def nothing_to_exit(broker: str | None, *, sent: bool = False) -> str:
    """Ours. `sent`: whether an order of it was at a broker."""
    where = "no broker holds" if broker is None else f"{broker} does not hold"
    return f"{where} what this exit would close any more, so it {'has ended' if sent else 'was not sent'}"


def cancel_refused(broker: str, units: int) -> str:
    """Ours: the plan wants to end an order, and its broker refuses the cancels."""
    return f"{broker} refuses to cancel a live order of {units} units that is not wanted any more"


def waits_because(reason: str) -> str:
    """What is due cannot happen (ours)."""
    return f"what is due waits: {reason}"


def not_answered(broker: str, side: Side, units: int) -> str:
    """The outcome of an order that closes or hedges is not known (ours)."""
    return f"{broker} has not told whether it has the {side} order of {units} units"


def not_changed(broker: str, units: int, why: str | None) -> str:
    """The plan wants to change or end an exit, and the message cannot leave, or is not answered (ours)."""
    return f"an order of {units} units at {broker} could not be changed or cancelled: {why or f'{broker} has not answered'}"


def close_refused(broker: str, why: str | None) -> str:
    """An exit, or a close, that goes again after its broker has refused it (ours)."""
    return f"{broker} has refused the order: {why or 'without a reason'}"


def left_by_refusal(broker: str | None, units: int, why: str | None) -> str:
    """A close that was due later has ended because its broker, or a check, refused it (ours). `broker` None: it was refused before one was chosen."""
    return f"a close of {units} units{_at(broker)} was refused, so they were not closed: {why or 'without a reason'}"


def left_by_hand(broker: str, units: int) -> str:
    """Another hand (a person, the broker itself) has cancelled the order of a close that was due later, or made it smaller (ours)."""
    return f"the order of a close was cancelled at {broker} with {units} units unfilled, so it did not close them"


def reversal_short(broker: str | None, units: int, why: str | None) -> str:
    """A position was closed and its reversal is not whole, because its broker, or a check, refused an order of it (ours)."""
    return f"a reversal{_at(broker)} has opened {units} units too few, because an order was refused: {why or 'without a reason'}"


def hedging_ended(broker: str | None, units: int, why: str | None) -> str:
    """A hedge of an exposure was refused, and the part has ended with it (ours)."""
    return f"a hedge of {units} units{_at(broker)} was refused, and the exposure is hedged no further: {why or 'without a reason'}"


def hedging_stopped(broker: str | None, units: int, *, expired: bool) -> str:
    """A hedge of an exposure has expired, or another hand has cancelled it, and the part has ended with it (ours)."""
    how = "has expired" if expired else "was cancelled by another hand"
    return f"a hedge of {units} units{_at(broker)} {how}, and the exposure is hedged no further"


def _at(broker: str | None) -> str:
    return "" if broker is None else f" at {broker}"


def target_refused(broker: str, units: int, why: str | None) -> str:
    """A target that left long after its caller was answered, and that is not sent again. Its stop stays (ours)."""
    return f"{broker} has refused the target of {units} units, which is over: {why or 'without a reason'}"


def target_not_sent(why: str) -> str:
    """The same where no broker got an order of it (ours)."""
    return f"a target is over before it was sent: {why}"


def never_shown(broker: str, count: int) -> str:
    """An exit that waits before its next order, because earlier orders were never shown and may still turn up (ours)."""
    return f"{broker} never showed {count} orders of it, and the next one waits a while for them"


def stop_taken_away(name: str, parent_id: str, units: int) -> str:
    """A warning to the caller who ends a stop, or asks what would happen (ours)."""
    return f"this is the stop of {name} {parent_id}: {units} units stay open without it"


_BY_HAND = "its stop was ended by hand while "


def stop_ended_by_hand(units: int) -> str:
    """Ours."""
    return f"{_BY_HAND}{units} units were open"


def is_of_open_units(sentence: str) -> bool:
    """Whether a sentence is about units that are open, so that it is over when nothing is held any more."""
    return is_without_stop(sentence) or sentence.startswith(_BY_HAND)


_WITHOUT_STOP = "units are open without a stop"


def without_stop(units: int) -> str:
    return f"{units} {_WITHOUT_STOP}"


def is_without_stop(sentence: str | None) -> bool:
    return sentence is not None and sentence.endswith(_WITHOUT_STOP)


def units_without_stop(sentence: str) -> int | None:
    """Return the units of a sentence of `without_stop`; None of any other sentence."""
    units = sentence.removesuffix(f" {_WITHOUT_STOP}")
    return int(units) if units != sentence and units.isdecimal() else None


def not_watched(broker: str, count: int) -> str:
    """Orders of a parent at a broker that the settings exclude."""
    return f"{broker} is not in service, so {count} orders there are not watched"


def still_to_cancel(broker: str, count: int) -> str:
    """Orders of a parent whose cancel, as far as is known, has not reached their broker."""
    return f"orders still to be cancelled at {broker}: {count}"


def closed_elsewhere(broker: str) -> str:
    """An order of another plan closes the whole position, and has not filled yet; a second close would sell the units twice (ours)."""
    return f"another order already closes this position at {broker}"


def old_order(broker: str) -> str:
    """The order of an earlier day is over, and the order of this day waits until its broker's book says so (ours)."""
    return f"{broker} has not shown yet what became of the order of an earlier day"


def not_known(broker: str, count: int) -> str:
    """Orders of unknown outcome at a broker whose order book has some unreadable rows."""
    return f"the order book of {broker} has rows that cannot be read, so it is not known what became of {count} order{'' if count == 1 else 's'} there"


def units_without(units: int, what: str) -> str:
    """3.4, 3.25; `what`: unhedged, without their second leg."""
    return f"{units} units are {what}"


def still_open(units: int) -> str:
    return f"{units} units were not closed"


def over_filled(units: int) -> str:
    return f"exits filled {units} more than the entry"


def exit_too_large(broker: str, units: int) -> str:
    """Ours: another hand made an exit larger at its broker (2.6)."""
    return f"its exit at {broker} is for {units} units more than this plan has open"


POSITIONS_BEING_READ = "a close that is due waits until the positions it closes have been read"
"""Ours."""


def positions_unread(broker: str) -> str:
    return f"the positions of {broker} could not be read, so they were not closed"


def partly_unread(broker: str) -> str:
    return f"some positions of {broker} could not be read"


def positions_partly_unread(broker: str, why: str) -> str:
    return f"{partly_unread(broker)}, so these were not closed ({why})"


_NOT_CLEARED = "resting orders could not be cancelled, so this position was not closed"


def not_cleared(count: int) -> str:
    return f"{count} {_NOT_CLEARED}"


def is_not_cleared(sentence: str) -> bool:
    return sentence.endswith(_NOT_CLEARED)


def closed_not_reversed(why: str) -> str:
    """`why` says why new orders are refused today, or why this position cannot be reversed."""
    return f"{why}; the position is closed and not reversed"


DELIVERY_NOT_REVERSED = "a delivery position cannot be reversed"


# --- a caller's changes (order-engine 2.6, 5.6) ------------------------------------------------------------------------


def kept_whole(path: str, doing: str) -> str:
    """`doing`: cancelled, changed."""
    return f"{path} is kept whole until it starts, so it cannot be {doing} on its own"


def part_already(path: str, state: str) -> str:
    return f"the part {path} is already {state}"


def only_reduced(quantity: int) -> str:
    return f"an exit can only be reduced, from {quantity} down"


def no_price_of_its_own(path: str) -> str:
    return f"the part {path} has no price of its own to change"


def no_trigger_of_its_own(path: str) -> str:
    return f"the part {path} has no trigger_price of its own to change"


ADJUSTED_LOT = (
    "the exchange has changed its contract and the size of the lot: this plan still has the figures of before, and names no contract of now; "
    "cancel it, or place it anew"
)
