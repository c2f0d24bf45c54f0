"""How an event is written: one line of text, or the values of a JSON object."""

from decimal import Decimal

import msgspec

from onebroker.config.events import (
    CatalogueBuilt,
    ClientRefused,
    LossLock,
    OrderRejected,
    OrderSent,
    Started,
    as_json,
    as_text,
)
from onebroker.http.commands.printable import printable
from tests.support.every_case import every_case

START = Started(
    version="0.2.0", listener="127.0.0.1:8000", brokers=("zerodha", "dhan"), logins_needed=(), key=False,
    durability="every write on disk", calendar_until=None,
)  # fmt: skip


def rejected(words: str) -> OrderRejected:
    return OrderRejected(broker="zerodha", parent="p-1", leg=None, words=words)


def test_the_name_comes_first_and_the_fields_keep_their_order():
    assert as_text(CatalogueBuilt(day="2026-11-25", instruments=12, brokers=("dhan",))) == (
        "catalogue.built day=2026-11-25 instruments=12 brokers=dhan"
    )
    assert list(as_json(START)) == ["event", "version", "listener", "brokers", "logins_needed", "key", "durability"]


def test_what_is_not_known_is_left_out_and_no_is_not():
    assert as_text(rejected("no")) == "order.rejected broker=zerodha parent=p-1 words=no"
    assert "leg" not in as_json(rejected("no"))
    assert "key=no" in as_text(START)
    assert as_json(START)["key"] is False


def test_a_list_is_words_with_commas_and_an_empty_list_is_quoted():
    assert 'brokers=zerodha,dhan logins_needed=""' in as_text(START)
    assert as_json(START)["brokers"] == ("zerodha", "dhan")


def test_a_decimal_is_written_as_it_was_counted():
    event = LossLock(locked=True, loss=Decimal("5200.00"), limit=Decimal("5E+3"))
    assert as_text(event) == "lock.loss locked=yes loss=5200.00 limit=5E+3"
    assert as_json(event)["loss"] == "5200.00"


@every_case(
    ("words", "shown"),
    [
        ("plain", "plain"),
        ("two words", '"two words"'),
        ("", '""'),
        ("a=b", '"a=b"'),
        ('a"b', '"a\\"b"'),
        ("a\\b", '"a\\\\b"'),
        ("₹5", "₹5"),
        ("a\nb", '"a\\nb"'),
        ("order.filled broker=dhan", '"order.filled broker=dhan"'),
    ],
)
def test_a_value_that_is_not_one_word_is_a_json_text(words: str, shown: str):
    line = as_text(rejected(words))
    assert line.endswith(f"words={shown}")
    assert words in (shown, msgspec.json.decode(shown) if shown.startswith('"') else shown)


@every_case(
    "words", ["x\n2026-11-25 INFO order.filled", "x\r\x1b[2K", "x\u2028y", "x\x00", 'x" parent="p-2', "x\u202ey"]
)
def test_words_of_a_broker_forge_neither_a_line_nor_a_field(words: str):
    line = printable(as_text(rejected(words)))
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert line.count(" parent=") == 1 + words.count(" parent=")
    assert '" parent="' not in line
    assert msgspec.json.decode(msgspec.json.encode(as_json(rejected(words))))["words"] == words


def test_a_text_that_is_no_unicode_is_written_out():
    assert as_text(rejected("not \ud800 text")).endswith('words="not \\\\ud800 text"')
    assert as_json(rejected("not \ud800 text"))["words"] == "not \\ud800 text"


def test_an_address_of_a_client_is_one_value():
    event = ClientRefused(why="wrong access token", address="::1", count=3)
    assert as_text(event) == 'client.refused why="wrong access token" address=::1 count=3'


def test_only_what_a_message_has_is_written():
    event = OrderSent(broker="dhan", verb="cancel", order_id="1")
    assert as_text(event) == "order.sent broker=dhan verb=cancel order_id=1"
