"""One vocabulary at one broker: both directions, and tables that cannot come into being."""

import pytest

from onebroker.brokers.codec.words import Words
from onebroker.brokers.requests import BadAnswer, NotSendable
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

BUY_AND_SELL = {Side.BUY: "buy", Side.SELL: "sell"}
PRODUCTS = Words(
    "toy",
    Product,
    both={Product.MIS: "I"},
    send_only={Product.CNC: "D", Product.NRML: "D"},
    read_only={"INTRADAY": Product.MIS, "V": Product.CO},
    unsupported={Product.BO, Product.MTF, Product.ARB},
)


@pytest.mark.parametrize(
    ("word", "ours"),
    [("I", "MIS"), (" i ", "MIS"), ("Intraday", "MIS"), ("v", "CO"), ("D", "D"), ("odd one", "ODD ONE"), (None, "NONE"), ([], "[]")],
)  # fmt: skip
def test_a_word_is_read_in_any_spelling_and_an_unknown_word_passes_through_in_capitals(word, ours):
    assert PRODUCTS.read(word) == ours
    assert PRODUCTS.at("product")({"product": word}) == ours


def test_a_word_that_a_row_must_have_is_read_from_the_first_filled_field():
    read = PRODUCTS.required_at("prd", "pcode")
    assert read({"prd": " ", "pcode": "V"}) == "CO"
    with pytest.raises(BadAnswer, match="a row without prd"):
        read({})


def test_our_word_is_said_as_a_member_and_as_a_text():
    assert (PRODUCTS.say(Product.CNC), PRODUCTS.say("NRML"), PRODUCTS.say("MIS")) == ("D", "D", "I")
    assert PRODUCTS.sent == {"CNC", "NRML", "MIS"}


@pytest.mark.parametrize("word", ["CO", "BO", "MYSTERY", ""])
def test_a_word_that_is_only_read_unsupported_or_unknown_is_never_said(word):
    with pytest.raises(NotSendable, match=f"toy has no word for {word}"):
        PRODUCTS.say(word)


def test_numbers_are_said_as_numbers_and_read_in_both_forms():
    sides = Words("toy", Side, both={Side.BUY: 1, Side.SELL: -1})
    assert [sides.say("BUY"), sides.read(1), sides.read("-1")] == [1, "BUY", "SELL"]


def test_the_tables_can_be_looked_at_but_not_changed():
    assert dict(PRODUCTS.reads) == {"I": "MIS", "INTRADAY": "MIS", "V": "CO"}
    assert dict(PRODUCTS.says) == {"CNC": "D", "NRML": "D", "MIS": "I"}
    with pytest.raises(TypeError):
        PRODUCTS.reads["D"] = Product.CNC


@pytest.mark.parametrize(
    ("kind", "tables", "why"),
    [
        (Side, {"both": {Side.BUY: "B"}}, "nothing is said about SELL"),
        (Validity, {"both": {Validity.DAY: "0"}, "unsupported": {Validity.IOC}}, "nothing is said about GTC, GTD, GTT"),
        (Side, {"both": BUY_AND_SELL, "unsupported": {Side.BUY}}, "unsupported, but with a word: BUY"),
        (Side, {"both": BUY_AND_SELL, "read_only": {"SELL": Side.BUY}}, "two meanings"),
        (Side, {"both": {Side.BUY: "x", Side.SELL: "X"}}, "two meanings"),
        (Side, {"both": BUY_AND_SELL, "send_only": {Side.BUY: "B"}}, "stands in both and in send_only"),
        (Side, {"both": BUY_AND_SELL, "read_only": {"Sale": Side.SELL}}, "not in capitals"),
    ],
)  # fmt: skip
def test_a_table_that_forgets_or_contradicts_does_not_come_into_being(kind, tables, why):
    with pytest.raises(ValueError, match=why):
        Words("toy", kind, **tables)


def test_a_vocabulary_that_is_only_read_sends_nothing():
    kinds = Words("toy", OrderType, read_only={"L": OrderType.LIMIT}, unsupported=set(OrderType) - {OrderType.LIMIT})
    assert not kinds.sent
    assert kinds.read("l") is OrderType.LIMIT
