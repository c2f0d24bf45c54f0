"""Parents as they are stored and read back: what a simple one says of itself, and one that is damaged (order-engine 5.5)."""

import pytest

from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, SetAdd

DAMAGED = "00000000-0000-4000-8000-000000000001"


async def test_a_simple_parent_shows_its_settings_with_their_defaults_and_no_parts(day, autojump_clock):
    async with day.market(), day.service():
        answer = await day.place(day.body(day.equity(), closes_position=True, sent={"quantity": 10}))
        parent = await stored_parent(day.store, answer.body["parent_id"])
        assert parent["parameters"] == {"closes_position": True, "hold_limits": False, "parts": {}}
        assert parent["body"] == {"quantity": 10}
        assert (parent["synthetic_type"], parent["routed_from"], parent["intent_id"]) == ("simple", None, "i-1")
        assert parent["legs"][0]["part"] == "entry"


@pytest.mark.parametrize("written", [b"", b"{", b"\xff", b"[]", b'{"state": "unheard_of"}'])
async def test_a_damaged_record_neither_stops_the_engine_nor_goes_away(day, autojump_clock, written):
    await day.store.commit(Set(keys.parent(DAMAGED), written), SetAdd(keys.OPEN_PARENTS, DAMAGED))
    async with day.market(), day.service():
        answer = await day.place(day.body(day.equity()))
        assert answer.body["outcome"] == "accepted"
        assert (await open_parents(day.store))["unreadable_parents"] == [DAMAGED]
        assert day.crashes.records() == ()
