"""Sentences of the plan grammar and of settings of `synthetic` (order-engine 1.5, 1.10, 3.0). A sentence marked ours
has no text there.

In a plan, each sentence follows the path of its part (`at`).
"""

from collections.abc import Iterable


def at(path: str, sentence: str) -> str:
    """Every sentence of the grammar begins with the path of its part."""
    return f"{path}: {sentence}" if path else sentence


# --- one field (3.0, N1 to N26) ------------------------------------------------------------------------------------------


def is_required(field: str) -> str:
    """N1."""
    return f"{field} is required"


def above_zero(field: str) -> str:
    """N2."""
    return f"{field} must be a number above zero"


def number(field: str) -> str:
    """N3."""
    return f"{field} must be a number"


def whole_at_least(field: str, least: int) -> str:
    """N4."""
    return f"{field} must be a whole number of at least {least}"


def whole_from(field: str, least: int, most: int) -> str:
    """N5."""
    return f"{field} must be a whole number from {least} to {most}"


def number_from(field: str, least: object, most: object) -> str:
    """N6."""
    return f"{field} must be a number from {least} to {most}"


def number_above(field: str, above: str, end: str) -> str:
    """N6 with an open end: `must be a number above 0 and at most 100`."""
    return f"{field} must be a number above {above} and {end}"


def other_than_zero(field: str) -> str:
    """Ours."""
    return f"{field} must be a number other than zero"


def whole(field: str) -> str:
    """Ours: any whole number."""
    return f"{field} must be a whole number"


def true_or_false(field: str) -> str:
    """N7."""
    return f"{field} must be true or false"


def one_of(field: str, words: Iterable[str]) -> str:
    """N8."""
    return f"{field} must be one of {', '.join(words)}"


def time_of_day(field: str) -> str:
    """N9."""
    return f"{field} must be a time of day such as 15:10"


def time_without_seconds(field: str) -> str:
    """N9, for a time that has no seconds."""
    return f"{time_of_day(field)}, without seconds"


def already_passed(field: str) -> str:
    """N10."""
    return f"{field} has already passed today"


def uuid(field: str) -> str:
    """N12."""
    return f"{field} must be a UUID"


def either(first: str, second: str) -> str:
    """N13."""
    return f"give either {first} or {second}, not both and not neither"


def not_both(first: str, second: str) -> str:
    """As in 3.42: neither is allowed."""
    return f"give {first} or {second}, not both"


def takes_no(owner: str, field: str) -> str:
    """N14, and 1.1: `owner` is `order part`, `twap order`. The rules give the article before a type's name."""
    return f"{'an' if owner.startswith('order') else 'a'} {owner} takes no {field}"


def above_for_buy(field: str, other: str) -> str:
    """N16."""
    return f"{field} must be above {other} for a BUY order"


def below_for_sell(field: str, other: str) -> str:
    """N16."""
    return f"{field} must be below {other} for a SELL order"


def below_for_buy(field: str, other: str) -> str:
    """N16."""
    return f"{field} must be below {other} for a BUY order"


def above_for_sell(field: str, other: str) -> str:
    """N16."""
    return f"{field} must be above {other} for a SELL order"


def not_past(field: str, side: str, other: str, direction: str) -> str:
    """As in 3.6: a stop's limit must not be on the wrong side of its trigger."""
    return f"{field} must not be {direction} {other} for a {side} order"


WATCHED_IS_TRADED = "watch_instrument_id must not be the instrument being traded"
"""N18."""


def takes_no_reference(synthetic_type: str, field: str) -> str:
    """N19."""
    return f"a {synthetic_type} order takes no {field}; give real numbers"


def takes_no_synthetic(order: str) -> str:
    """3.33; `order` is for instance `then`, `candidates.0`."""
    return f"{order} takes no synthetic"


def only_simple(field: str) -> str:
    """N20, N21."""
    return f"{field} is only for simple orders"


def validity_not_with(validity: str, synthetic_type: str) -> str:
    """N22."""
    return f"validity {validity} cannot be used with a {synthetic_type} order"


def list_of(field: str, least: int, most: int) -> str:
    """N25."""
    return f"{field} must be a list of {least} to {most} items"


def json_object(field: str) -> str:
    """N26."""
    return f"{field} must be a JSON object"


# --- parts (1.10) --------------------------------------------------------------------------------------------------------

ROOT_REQUIRED = "root is required"
PART_KINDS = "part must be one of order, sequence, together, one_cancels_others, preset"
LIFETIME_EMPTY = "lifetime needs one of at_time, after_minutes, after_days, when"
RATIO = "ratio must be 1 or 2"
INSTRUMENTS = "give either instrument_ids or every_instrument"
NOTHING_TO_HANG_ON = "from_fill needs a part to hang on"
STOP_NOT_SLICED = "stop_not_sliced: a resting stop cannot be split into pieces"
TOO_MUCH = "quantities of the children add up to more than the order"
NO_LIMIT_OF_PNL = "give loss, profit or give_back"
"""As in 3.45."""
HELD_NOT_FIXED = "only a fixed price can be held"
"""Ours."""
EXPOSURE_NEEDS_TOP_UP = "an exposure quantity needs execution kind top_up"
"""Ours."""
QUANTITY_KINDS = "quantity must be one of share, from_fill, position, exposure"
"""Ours: an object that names none of them, or more than one."""
OPTIONS_ONLY = "option_model is only for options"
"""Ours; as in 3.54."""


def price_kinds(kinds: Iterable[str]) -> str:
    return one_of("price kind", kinds)


def execution_kinds(kinds: Iterable[str]) -> str:
    return one_of("execution kind", kinds)


def pair(price: str, execution: str) -> str:
    return f"price kind {price} cannot be used with execution {execution}"


def position_not_with(execution: str) -> str:
    """Ours, in the words of `pair`."""
    return f"a position quantity cannot be used with execution {execution}"


def position_not_priced(price: str) -> str:
    return f"a position quantity cannot be used with price kind {price}"


def positions_not_priced(price: str) -> str:
    return f"a position quantity of several instruments cannot be used with price kind {price}"


def too_many_parts(most: int, count: int) -> str:
    return f"a plan may hold at most {most} parts, not {count}"


def too_many_orders(most: int, count: int) -> str:
    """Ours."""
    return f"a plan may hold at most {most} order parts, not {count}"


def too_deep(most: int) -> str:
    return f"a plan may be at most {most} parts deep"


def option_expired(day: str) -> str:
    return f"this option expired on {day}"


# --- prices (1.4) --------------------------------------------------------------------------------------------------------


def highest_below_lowest(highest: str, lowest: str) -> str:
    return f"{highest} must not be below {lowest}"


def larger_than_before(field: str) -> str:
    return f"{field} must be larger than the one before"


def stop_or_trail(rule: str) -> str:
    return f"{rule}: give either stop_at_gain or trail_points"


def trailing_rule_last(rule: str) -> str:
    return f"{rule}: a trailing rule must be last"


def less_than_its_gain(field: str) -> str:
    return f"{field} must be less than its gain"


def inside_a_rule(field: str) -> str:
    return f"{field} goes inside a rule"


# --- executions (1.5) ----------------------------------------------------------------------------------------------------

MUST_DIFFER = "from_price and to_price must differ"


def lots_for_slices(slices: int, lot: int) -> str:
    return f"quantity must hold at least {slices} lots of {lot} for {slices} slices"


def share_below_a_lot(lot: int) -> str:
    """Ours: a share of zero units would never be sent."""
    return f"share must come to at least one lot of {lot}"


def volume_profile(slices: int) -> str:
    return f"volume_profile must be a list of {slices} numbers of at least 0"


def rungs_on_one_tick(price: str) -> str:
    return f"steps would put two orders at {price}"


def less_than_quantity(field: str) -> str:
    return f"{field} must be less than quantity"


def not_above_quantity(field: str) -> str:
    return f"{field} cannot be more than quantity"


def too_many_pieces(field: str, count: int, most: int) -> str:
    return f"{field} would make {count} pieces, and at most {most} are sent"


def too_many_slices(count: int, freeze: int, most: int) -> str:
    return f"quantity needs {count} orders of at most {freeze}, and a freeze_slicer sends at most {most}"
