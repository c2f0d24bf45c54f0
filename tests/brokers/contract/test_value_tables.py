"""The value tables of every broker: both directions agree, and each word of ours is mapped or listed as unsupported (style 8).

A broker whose tables are `Words` is checked by their construction; here only, that the five tables are there, each of its
vocabulary.
"""

from importlib import import_module

from onebroker.brokers.codec.words import Words
from onebroker.brokers.registry import build_registry
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity
from tests.support.every_case import every_case

BROKERS = build_registry()
CODES = tuple(BROKERS)
VALUES = {code: import_module(f"onebroker.brokers.{code}.values") for code in CODES}
VOCABULARIES = {
    "SIDES": Side,
    "PRODUCTS": Product,
    "ORDER_TYPES": OrderType,
    "VALIDITIES": Validity,
    "STATUSES": OrderStatus,
}
NOT_BY_WORD = {
    ("fivepaisa", "ORDER_TYPES"),  # two flags make the type
    ("icicidirect", "PRODUCTS"),  # the kind of instrument decides what is sent
}
"""(code, table) whose words are not what an order message carries: tested beside its broker."""
WITH_WORDS = tuple(code for code in CODES if isinstance(VALUES[code].STATUSES, Words))
WITHOUT = tuple(code for code in CODES if code not in WITH_WORDS)
"""Brokers whose tables are still plain dictionaries, in both directions."""
TABLES = {
    "SIDE": (Side, "SIDES_UNSUPPORTED"),
    "PRODUCT": (Product, "PRODUCTS_UNSUPPORTED"),
    "ORDER_TYPE": (OrderType, "ORDER_TYPES_UNSUPPORTED"),
    "VALIDITY": (Validity, "VALIDITIES_UNSUPPORTED"),
}
READ_WITH_MORE = {
    ("upstox", "PRODUCT"),
    ("fivepaisa", "PRODUCT"),
    ("fivepaisa", "ORDER_TYPE"),
    *(("icicidirect", name) for name in TABLES),
}
"""(code, table) that is read with a second field, or by spellings: each is tested beside its broker."""


@every_case(
    ("code", "name"), [(code, name) for code in WITHOUT for name in TABLES if (code, name) not in READ_WITH_MORE]
)
def test_what_is_sent_is_read_back_and_every_word_is_read_or_listed_as_unsupported(code, name):
    words, unsupported_name = TABLES[name]
    to_wire, from_wire = (getattr(VALUES[code], f"{name}_{way}_WIRE") for way in ("TO", "FROM"))
    unsupported = getattr(VALUES[code], unsupported_name, frozenset())
    for word, wire in to_wire.items():
        assert from_wire.get(wire, from_wire.get(str(wire))) is word
    assert set(from_wire.values()) | unsupported == set(words)
    assert not set(from_wire.values()) & unsupported


@every_case("code", WITHOUT)
def test_every_order_status_of_ours_has_a_word_or_is_listed_as_unsupported(code):
    read, unsupported = set(VALUES[code].STATUSES.values()), getattr(VALUES[code], "STATUSES_UNSUPPORTED", frozenset())
    assert read | unsupported == set(OrderStatus)
    assert not read & unsupported


@every_case(
    ("code", "name"),
    [(code, name) for code in WITH_WORDS for name in VOCABULARIES if (code, name) not in NOT_BY_WORD],
)
def test_each_vocabulary_is_one_table_and_whatever_the_broker_offers_has_a_word(code, name):
    words, offers = getattr(VALUES[code], name), BROKERS[code].capabilities
    assert (words.broker, words.kind) == (code, VOCABULARIES[name])
    offered = {
        "SIDES": frozenset(Side),
        "PRODUCTS": frozenset().union(*offers.products.values()),
        "ORDER_TYPES": frozenset().union(*offers.order_types.values()),
        "VALIDITIES": offers.validities,
        "STATUSES": frozenset(),
    }
    assert offered[name] <= words.sent
