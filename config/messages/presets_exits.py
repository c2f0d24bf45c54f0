"""Sentences of the types that guard or close a position: stops, brackets, closes (order-engine 3; rules 2.7). A
sentence marked ours has no text there."""

from decimal import Decimal

from onebroker.config.money import plain
from onebroker.config.vocabulary import Side

COVER_STOP_STAYS = "the stop of a cover order cannot be cancelled while its entry is open"
"""3.11, 409."""
BACKSTOP_PAIR = "give backstop_price and backstop_limit_price together"
"""3.20."""
BUY_ABOVE_SELL = "buy_trigger must be above sell_trigger"
"""3.50; also the two below."""
BUY_LIMIT_BELOW = "buy_limit must not be below buy_trigger"
SELL_LIMIT_ABOVE = "sell_limit must not be above sell_trigger"
QUANTITIES_NOT_THE_ORDER_S = "target_quantities must add up to quantity"
"""3.38."""


def own_stop_limit_wrong_side(side: str, name: str) -> str:
    """As in 3.6, for a type whose side is the stop's own side (3.31)."""
    direction = "below" if side == Side.BUY else "above"
    return f"stop_limit_price must not be {direction} stop_price for a {side} {name}"


def each_further(side: str) -> str:
    """3.38."""
    direction = "above" if side == Side.BUY else "below"
    return f"target_prices must each be {direction} the one before for a {side} order"


def lots_for_targets(targets: int, lot: int) -> str:
    """3.38."""
    return f"quantity must hold at least {targets} lots of {lot} for {targets} targets"


def brings_to(fields: str, price: Decimal) -> str:
    """As in 3.18: a distance that leaves no price."""
    return f"{fields} bring the lowest price to {plain(price)}, which is not a price an order can carry"


NO_LIMIT_OF_A_STRATEGY = "give max_loss, target_profit or give_back"
"""3.45."""
NOTHING_TO_CLOSE = "a close_on_trigger order found no open position in this instrument, so there is nothing to close"
"""3.9, 409; also the two below."""
NOTHING_TO_REVERSE = (
    "a stop_and_reverse order found no open position in this instrument, so there is nothing to reverse"
)
NOTHING_TO_GUARD = "a strategy_stop order found no open position in these instruments, so there is nothing to guard"


def positions_unread(broker: str) -> str:
    """Ours, 503: it is not known whether there is a position."""
    return f"the positions of {broker} could not be read, so nothing was sent"
