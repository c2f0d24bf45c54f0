"""Sentences of placing, modifying and cancelling orders (rules 2.4.2, 2.4.4-2.4.6, 8; order-engine 4, 5)."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

# --- the place body (rules 2.8) ----------------------------------------------------------------------------------------

BODY_OBJECT = "the request body must be a JSON object"
QUANTITY_REQUIRED = "quantity is required"
QUANTITY_WHOLE = "quantity must be a whole number of at least 1"
DISCLOSED_WHOLE = "disclosed_quantity must be a whole number of at least 0"
DISCLOSED_ABOVE = "disclosed_quantity cannot be more than quantity"
TAG = "tag must be 1 to 20 letters and digits"
UUID = "instrument_id must be a UUID"
NO_NAMING = "give instrument_id, or an exchange of nse, bse, mcx or ncdex with a segment and its identity fields"
SECURITY_NEEDS = "a security segment needs symbol"
EXPIRY_DATE = "expiry_date must be a date in YYYY-MM-DD format"
STRIKE_PRICE = "an option segment needs a numeric strike_price"
OPTION_TYPE = "option_type must be CE or PE"
SEVERAL_INSTRUMENTS = "the identity fields match more than one instrument, so give instrument_id"
SYNTHETIC_OBJECT = "synthetic must be a JSON object"
HOLD_LIMITS = "hold_limits must be true or false"
EXITS_FOLLOW = "exits_follow_position must be true or false"
HOLD_LIMITS_SIMPLE = "a simple order is never held, so hold_limits cannot be true"
NESTED_TOO_DEEPLY = "the request body is nested too deeply"
"""Ours."""


def must_be_one_of(field: str, choices: Iterable[str]) -> str:
    return f"{field} must be one of {', '.join(choices)}"


def true_or_false(field: str) -> str:
    return f"{field} must be true or false"


def price_number(field: str) -> str:
    return f"{field} must be a number of at least 0"


def needs_price(order_type: str) -> str:
    return f"a {order_type} order needs a price"


def takes_no_price(order_type: str) -> str:
    return f"a {order_type} order takes no price"


def needs_trigger(order_type: str) -> str:
    return f"a {order_type} order needs a trigger_price"


def takes_no_trigger(order_type: str) -> str:
    return f"a {order_type} order takes no trigger_price"


def segment_not_sent(segment: str) -> str:
    """The segment word that the caller sent is not one that orders are sent for."""
    return f"orders are not sent for the segment '{segment}'"


def instruments_not_sent(segment: str) -> str:
    """The instrument was found, and lies in a segment that orders are not sent for."""
    return f"orders are not sent for {segment} instruments"


def derivative_needs(shape: str) -> str:
    return f"a {shape} segment needs underlying_symbol and expiry_date"


def takes_no_setting(synthetic_type: str, field: str) -> str:
    """Order-engine 3.0, N14: a setting that the order type does not have."""
    return f"a {synthetic_type} order takes no {field}"


def worked_out_by_engine(field: str) -> str:
    """Order-engine 3.0, N15."""
    return f"{field} is worked out by the order engine, so it must not be sent"


def takes_no(what: str, field: str) -> str:
    """Ours: an unknown key; the sentence ends with the nearest known key."""
    return f"{what} takes no {field}"


def whole_lots(field: str, lot: int) -> str:
    return f"{field} must be a whole number of lots of {lot}"


def whole_ticks(field: str, tick: str) -> str:
    return f"{field} must be a whole number of ticks of {tick}"


# --- list forms (rules 2.4.2, 2.8) --------------------------------------------------------------------------------------

ORDERS_LIST = "orders must be a non-empty list"
ENTRY_OBJECT = "each entry of orders must be an object"
DRY_RUN_OF_LIST = "dry_run applies to the whole list, so give it beside orders rather than inside an order"


def list_too_long(maximum: int, count: int) -> str:
    return f"a list may hold at most {maximum} orders, not {count}"


def inside_each_order(name: str) -> str:
    return f"a list takes only orders and dry_run, so give {name} inside each order"


# --- hand-over and engine ----------------------------------------------------------------------------------------------

ENGINE_NOT_RUNNING = (
    "the order engine is not running, so the order was not placed; start unified-orders@order_engine.service"
)
ALREADY_STARTED = (
    "the order engine had already started this order before it read it again, so it was not placed a second time; "
    "read the parent for its outcome"
)
STALE_INTENT = "the order engine read this order after the caller had stopped waiting for it, so it was not placed"
RATE_BUDGET_FULL = "the order rate budget is full, so this order was not sent; try again in a moment"
CANCEL_RATE_BUDGET_FULL = "the order rate budget is full, so this cancel was not sent; try again in a moment"
ANSWER_UNREADABLE = "the order engine's answer could not be read, so this order may have been placed"
FAILED_AFTER_WRITE = "the order engine failed after this order was written as sending, so it may have been placed"
NO_BROKER = "no broker can take this order now"
CONTRACT_SIZE_NOT_AGREED = (
    "the contract size of this instrument is not agreed between brokers, so the order was not sent"
)


def engine_did_not_answer(seconds: float) -> str:
    return f"the order engine did not answer within {seconds:g} seconds, so this order may still be placed"


def dry_run_not_answered(seconds: float) -> str:
    """504 of a dry run, which places nothing even if the request is still worked."""
    return f"the order engine did not answer within {seconds:g} seconds; this was a dry run, so nothing was placed"


def catalogue_not_published(reason: str) -> str:
    return f"today's instrument catalogue is not published yet: {reason}"


def not_written(error: str) -> str:
    return f"the order could not be written for the order engine: {error}"


def failed_before_sending(exception: str) -> str:
    return f"the order engine failed before sending this order to any broker ({exception}), so nothing was placed"


def synthetic_not_run(name: str, runs: Iterable[str]) -> str:
    return f"the order engine does not run '{name}' orders; it runs {', '.join(runs)}"


# --- brokers passed over (order-engine 4.1) ------------------------------------------------------------------------------

EXCLUDED_BY_CONFIGURATION = "excluded by configuration"
DOES_NOT_CARRY = "does not carry this instrument"
RATE_FULL_REASON = "the order rate budget is full"
ORDERS_NOT_SENT = "orders are not sent to this broker"
INTRADAY_CLOSED = "intraday orders are closed for today"


def no_login(broker: str) -> str:
    return f"{broker} has no login in Redis"


def given_up(fault: str, resting: int) -> str:
    """For a parent whose actor crashed again and again; `resting`: how many of its orders may be live."""
    sentence = f"the order engine gave this order up ({fault})"
    return f"{sentence}; {resting} of its orders may still rest unwatched until its next start" if resting else sentence


def not_in_service(broker: str) -> str:
    return f"{broker} is not in service"


def does_not_take(word: str, segment: str) -> str:
    return f"does not take {word} orders in {segment}"


def not_whole_lots(lot: int) -> str:
    return f"quantity is not a whole number of lots of {lot}"


def contract_size(status: str) -> str:
    return f"contract size {status}"


def above_freeze(freeze: int) -> str:
    return f"quantity is above the freeze quantity of {freeze}"


def send_sliced(freeze: int) -> str:
    """400 when no broker takes so many units in one order (order-engine 1.5)."""
    return f"{above_freeze(freeze)}, so send it as a freeze_slicer"


def not_enough_money(available: Decimal, needed: Decimal) -> str:
    return f"has {_two_places(available)} available and the order needs about {_two_places(needed)}"


def did_not_answer(count: int) -> str:
    return f"did not answer its last {count} orders"


def daily_cap(broker: str, sent: int, cap: int, kept: int) -> str:
    """The 429 sentence: `kept` of the cap are reserved for closing orders (0 = the whole cap is used up, even for them)."""
    begins = f"{broker} has been sent {sent} order messages today"
    if kept:
        return f"{begins}, and the last {kept} of its {cap} are kept for orders that close a position"
    return f"{begins}, which is all of its {cap}"


def pinned_cannot(broker: str, reason: str) -> str:
    return f"{broker} cannot take this order: {reason}"


HOLDINGS_NOT_READ = "its holdings cannot be read, so it is not known what it can deliver"


def cannot_deliver(units: int, quantity: int) -> str:
    """A delivery sale at a broker that lacks the shares."""
    return f"can deliver {units} of the {quantity} units" if units else "holds no units to deliver"


def not_deliverable(quantity: int, holders: Mapping[str, int], unread: Sequence[str]) -> str:
    """No broker can deliver a whole delivery sale. `holders`: broker -> units that it can deliver; `unread`: brokers whose holdings are not known."""
    can = ", ".join(f"{code} can deliver {units}" for code, units in holders.items()) or "no broker holds any"
    said = [f"no broker can deliver {quantity} units: {can}"]
    if unread:
        said.append(f"the holdings of {_listed(unread)} cannot be read")
    if holders:
        said.append("place a sale for each of them, with its broker and its units")
    return "; ".join(said)


def pinned_not_deliverable(cannot: str, others: Mapping[str, int]) -> str:
    """The same of a sale that names its broker; `others`: broker -> units that can be delivered there."""
    return "; ".join([cannot, *(f"{code} can deliver {units}" for code, units in others.items())])


def opens_beside(holders: Sequence[str], held: int, opened: int, broker: str, *, is_sale: bool) -> str:
    """A warning: the order opens `opened` units at `broker`, while `holders` together hold `held` units on the other side."""
    several = len(holders) > 1
    if is_sale:
        return f"{_listed(holders)} {'hold' if several else 'holds'} {held}; this opens a new short of {opened} at {broker}"
    return (
        f"{_listed(holders)} {'are' if several else 'is'} short {held}; this opens a new long of {opened} at {broker}"
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


NO_PRICE_KNOWN = "no price is known for this instrument, so the position was not closed"
"""For a close at a broker that takes limit orders only (order-engine 4.9)."""

# --- daily loss (rules 2.4.2, order-engine 4.7) ---------------------------------------------------------------------------

LOSS_NOT_AVAILABLE = "the day's profit and loss is not available, so no new order is being placed"


def day_is_down(loss: Decimal, limit: Decimal) -> str:
    """The amounts are rupees, shown with two decimals."""
    down, most = _two_places(loss), _two_places(limit)
    return f"the day is down {down}, which is past the {most} limit, so no new order is being placed"


def _two_places(rupees: Decimal) -> str:
    return f"{rupees.quantize(Decimal('0.01'), ROUND_HALF_UP):f}"


# --- cancel (rules 2.4.5) ------------------------------------------------------------------------------------------------

ORDER_ID_REQUIRED = "order_id is required"
ORDER_ID_FORM = "order_id must be 1 to 64 letters, digits, hyphens or underscores"
ORDER_NOT_FOUND = "no broker order book in Redis holds this order_id"
SEVERAL_BROKERS = "more than one broker holds an order with this order_id, so give broker"


def already(status: str) -> str:
    return f"the order is already {status}"


def answer_of_another_order(told: str, asked: str) -> str:
    """The broker's answer to a modify or cancel; ours, as are the two below."""
    return (
        f"the broker's answer is about order {told} and not about order {asked}, so what became of this message is not known "
        "until the order book is read again"
    )


def answer_of_another_tag(told: str, asked: str) -> str:
    """The broker's answer to a place that repeats a tag."""
    return (
        f"the broker's answer is about an order tagged {told} and not {asked}, so what became of this order is not known "
        "until the order book is read again"
    )


def answer_of_older_order(told: str) -> str:
    """The broker's answer to a place whose order id cannot belong to the new order."""
    return (
        f"the broker's answer is about order {told}, which was there before this one was sent, so what became of this order is "
        "not known until the order book is read again"
    )


def cancel_not_built(error: str) -> str:
    return f"the cancel could not be built: {error}"


def redis_unreadable(error: str) -> str:
    return f"Redis could not be read: {error}"


def not_with_parent(field: str) -> str:
    return f"{field} cannot be given with parent_id"


EITHER_ID = "name the order either by parent_id or by order_id, not both"

# --- parents (rules 2.4.6) -----------------------------------------------------------------------------------------------

PARENT_NAME = "parent_id must name a parent"
NO_PARENT = "the order engine holds no parent with this id"


def parent_unreadable(parent_id: str) -> str:
    """503: the store holds something under this id that this version cannot read."""
    return f"the stored record of parent {parent_id} cannot be read"


# --- intents (rules 2.4.3, order-engine 5.3) -----------------------------------------------------------------------------

INTENT_ID = "intent_id must be a UUID"
NO_ANSWER_KEPT = "no answer is kept for this intent_id"
KEPT_ANSWER_UNREADABLE = "the answer kept for this intent_id cannot be read"


STORE_LOST_WRITES = (
    "Redis came back without its last writes, so the books of all brokers are read before anything is sent"
)
"""Ours, said by the engine."""


def store_lost_writes(brokers: Sequence[str]) -> str:
    """Ours, said by the engine."""
    return (
        f"Redis came back without its last writes, so no open order acts until the books of {', '.join(brokers)} are read: "
        "log in there, or take the broker out of the settings"
    )


def store_lost_writes_asked(brokers: Sequence[str]) -> str:
    """Ours, said by the engine."""
    asked = f"{', '.join(brokers)} have been asked for the orders that it may have lost"
    return f"Redis came back without its last writes, so no open order acts until {asked}"
