"""The value tables of every broker: the five tables are there, each of its vocabulary, and say whatever the broker offers.

That both directions agree, and that each word of ours is mapped or listed as unsupported, is checked when a table is built
(`brokers/codec/words.py`).
"""

from importlib import import_module

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


@every_case(
    ("code", "name"),
    [(code, name) for code in CODES for name in VOCABULARIES if (code, name) not in NOT_BY_WORD],
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
