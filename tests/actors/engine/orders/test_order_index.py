"""Whose an order is: the leg index over a change of day (order-engine 2.3)."""

import attrs

from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import LegEntry

ENTRY = LegEntry(
    parent_id="p", leg_id="p.0", synthetic_type="simple", intent_id="i", leg_role="entry", tag="mine", broker="zerodha",
    session_day="2026-11-23",
)  # fmt: skip
TOKEN = "ob000000000000"


def index():
    legs = Legs(lambda: "2026-11-23")
    legs.lead()
    legs._add(TOKEN, "1", ENTRY)
    return legs


def test_an_order_is_found_by_its_token_without_case_and_by_its_id():
    legs = index()
    assert legs.owner("zerodha", "other", TOKEN.upper()).parent_id == "p"
    assert legs.owner("zerodha", "1", None).parent_id == "p"
    assert legs.owner("upstox", "1", TOKEN) is None


def test_readers_of_a_broker_look_again_when_its_legs_changed_and_only_then():
    legs = index()
    ours, others = legs.version_of("zerodha"), legs.version_of("upstox")
    legs._add("ob111111111111", "2", ENTRY)
    assert legs.version_of("zerodha") > ours
    ours = legs.version_of("zerodha")
    legs.shown(ENTRY, "3")
    assert legs.version_of("zerodha") > ours
    assert legs.version_of("upstox") == others
    legs.forget()
    assert legs.version_of("upstox") > others


def test_an_order_id_is_forgotten_when_the_day_turns_and_the_token_is_not():
    legs = index()
    before = legs.version_of("zerodha")
    legs.begin_day("2026-11-24")
    assert legs.owner("zerodha", "1", None) is None
    assert legs.owner("zerodha", "1", TOKEN).parent_id == "p"
    assert legs.version_of("zerodha") > before
    legs.begin_day("2026-12-04")
    assert legs.owner("zerodha", "1", TOKEN) is None


def test_an_order_of_an_earlier_day_that_the_book_shows_today_is_found_by_its_id_again():
    legs = index()
    legs.begin_day("2026-11-24")
    legs.shown(legs.entry("zerodha", "1", TOKEN), "1")
    assert legs.owner("zerodha", "1", None).parent_id == "p"


def test_an_old_entry_is_not_indexed_by_an_id_that_may_be_used_again():
    legs = index()
    legs._add("ob111111111111", "2", attrs.evolve(ENTRY, session_day="2026-11-20"))
    assert legs.owner("zerodha", "2", None) is None
    assert legs.owner("zerodha", "2", "ob111111111111").parent_id == "p"
