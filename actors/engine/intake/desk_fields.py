"""Fields of a halt, of a flatten and of a close, for the API and for the control socket. Pure; raises Refusal 400. A null counts as absent.

A close without any limit is refused. Limits come from variables of a program: one that is null by mistake must not close the whole account.
"""

from collections.abc import Mapping, Sequence

import attrs

from onebroker.actors.engine.intake import request_fields
from onebroker.actors.store.durable import HaltMode
from onebroker.config.messages import halts as texts
from onebroker.config.messages import order_changes, orders, shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import POSITION_PRODUCTS

FLATTEN_WORD = "FLATTEN"
HALT_WORD = "HALT"
CLOSE_WORD = "CLOSE"
_PRODUCT_WORDS = {name.lower(): word for product, word in POSITION_PRODUCTS.items() for name in (str(product), word)}
PRODUCT_CHOICES = (*map(str, POSITION_PRODUCTS), *POSITION_PRODUCTS.values())
"""A close takes the words of orders and of positions."""
MOST_REASON = 200
"""Characters of a halt's reason."""


def check_flatten_word(body: Mapping[str, object]) -> None:
    """Refuse a flatten whose `confirm` is not exactly the word."""
    if body.get("confirm") != FLATTEN_WORD:
        raise Refusal(400, order_changes.CONFIRM)


def check_close_word(body: Mapping[str, object]) -> None:
    """Refuse a close whose `confirm` is not exactly the word."""
    if body.get("confirm") != CLOSE_WORD:
        raise Refusal(400, order_changes.CONFIRM_CLOSE)


@attrs.frozen(kw_only=True)
class Limits:
    """What a close covers; None = no limit (rules 2.10.6)."""

    broker: str | None = None
    instrument_id: str | None = None
    product: str | None = None
    """A position's word, such as `intraday`."""
    tag: str | None = None

    def shown(self) -> dict[str, str | None]:
        return attrs.asdict(self)


def close_limits(body: Mapping[str, object], brokers: Sequence[str]) -> Limits:
    """Return what a close covers: at least one limit. `brokers`: the codes in service."""
    given, product, tag = body.get("instrument_id"), body.get("product"), body.get("tag")
    limits = Limits(
        broker=request_fields.broker(body.get("broker"), tuple(brokers)),
        instrument_id=None if given is None else request_fields.uuid_text(given, orders.UUID),
        product=None if product is None else _product(product),
        tag=None if tag is None else request_fields.tag(tag),
    )
    if limits == Limits():
        raise Refusal(400, order_changes.CLOSE_WHAT)
    return limits


def _product(value: object) -> str:
    """Return the position's word of a product, which may be given as an order's word too, in any case."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _PRODUCT_WORDS:
        raise Refusal(400, orders.must_be_one_of("product", PRODUCT_CHOICES))
    return _PRODUCT_WORDS[word]


def check_halt_word(body: Mapping[str, object]) -> None:
    """Refuse a halt whose `confirm` is not exactly the word."""
    if body.get("confirm") != HALT_WORD:
        raise Refusal(400, texts.CONFIRM)


def halt_mode(body: Mapping[str, object]) -> HaltMode:
    """Return `mode`, in any case; `reduce_only` when absent."""
    given = body.get("mode")
    if given is None:
        return HaltMode.REDUCE_ONLY
    try:
        return HaltMode(given.strip().lower() if isinstance(given, str) else "")
    except ValueError:
        raise Refusal(400, orders.must_be_one_of("mode", HaltMode)) from None


def halt_reason(body: Mapping[str, object]) -> str:
    """Return `reason` without blanks around it: required, 1 to 200 characters."""
    given = body.get("reason")
    if given is None:
        raise Refusal(400, shared.is_required("reason"))
    reason = given.strip() if isinstance(given, str) else ""
    if not 1 <= len(reason) <= MOST_REASON:
        raise Refusal(400, texts.reason_length(MOST_REASON))
    return reason
