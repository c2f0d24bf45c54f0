"""Sentences of the order types of rules 2.7 that several types share (order-engine 3.0). The sentences of one family
alone are in `presets_<family>.py`; a sentence marked ours has no text there."""

from collections.abc import Iterable

MARKET_CLOSED = "the market for this instrument is closed for today, so nothing was sent"


def needs_order_type(name: str, order_types: Iterable[str]) -> str:
    """N17."""
    return f"a {name} order needs order_type {' or '.join(order_types)}"


def always_held(name: str) -> str:
    """3.53."""
    return f"a {name} order is always held"


def already_past(field: str) -> str:
    """409 (3.0, already past)."""
    return f"the market is already past {field}, so nothing was sent"


def within_market_hours(field: str) -> str:
    return f"{field} must be within market hours"


def ends_after_close(field: str, close: str) -> str:
    """3.49; `close` as HH:MM."""
    return f"{field} must end before the market closes at {close}"


def needs_tick(name: str) -> str:
    """503 (4.3): a price that the engine works out needs a tick."""
    return f"a {name} order needs a tick size the brokers agree on and there is none for this instrument"


def stop_limit_wrong_side(side: str, name: str) -> str:
    """3.6."""
    direction = "above" if side == "BUY" else "below"
    return f"stop_limit_price must not be {direction} stop_price for a {side} {name}"
