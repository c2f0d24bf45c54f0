"""Open plans whose contract has another id since the exchange changed its terms: they go on under it, and a contract that was listed anew with the
old strike is not touched."""

from datetime import timedelta

import attrs
import pytest
import trio

from onebroker.actors.catalogue.contract_renames import EXPIRY, NAME, OTHER_LOT, SAME_LOT, STRIKE, STRIKE_AND_LOT
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.orders.adjusted_contracts import followed
from onebroker.actors.engine.plan.parts import FromFill
from onebroker.actors.engine.plan.price_kinds import Fixed, NativeStop
from onebroker.actors.engine.shown.stored_parents import stored_record
from onebroker.actors.store.durable_history import Rename
from tests.actors.engine.plan.trees import oco, order
from tests.support.trading import Trading

OLD = "00000000-0000-5000-8000-000000000001"


class Yesterday:
    """The mapping in which the share had another id."""

    def __init__(self, snapshot, new):
        self._snapshot = snapshot
        self._new = new

    def __getattr__(self, name):
        return getattr(self._snapshot, name)

    def instrument(self, instrument_id):
        if instrument_id == self._new:
            return None
        found = self._snapshot.instrument(self._new if instrument_id == OLD else instrument_id)
        return attrs.evolve(found, instrument_id=OLD) if found is not None and instrument_id == OLD else found

    instrument_once = instrument

    def by_token(self, broker, token):
        found = self._snapshot.by_token(broker, token)
        return OLD if found == self._new else found


@pytest.fixture
async def trading(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            yield Trading(day)


def rename(day, source=STRIKE, days=1):
    return Rename(
        old_id=OLD, new_id=day.equity(0).instrument_id, from_day=day.clock.today() + timedelta(days=days), source=source
    )


async def armed(trading):
    """A bracket that waits for its entry, placed while the contract had its old id."""
    day, today = trading.day, trading.day.snapshot
    await trading.move(0)
    day.snapshot = Yesterday(today, trading.share.instrument_id)
    day.catalogue.set(CatalogueState(latest=day.snapshot, published_today=True, reason=""))
    exits = oco(
        "root.each_fill",
        order(
            "root.each_fill.children.0",
            "SELL",
            FromFill(),
            NativeStop(trigger_price=trading.at(-4), limit_price=trading.at(-5)),
            is_exit=True,
            of=OLD,
        ),
        order("root.each_fill.children.1", "SELL", FromFill(), Fixed(trading.at(3)), hold=True, is_exit=True, of=OLD),
    )
    root = order(quantity=100, price=Fixed(trading.at(-1)), hold=True, each_fill=exits, of=OLD)
    body = day.body(attrs.evolve(day.snapshot.instrument(OLD)), product="MIS", price=trading.at(0), plan=root)
    answer = await day.place(body, intent_id="old")
    assert (answer.status, answer.body["outcome"]) == (202, "armed"), answer.body
    day.snapshot = today
    return answer


def publish(day, *renames):
    day.catalogue.set(CatalogueState(latest=day.snapshot, published_today=True, reason="", renames=renames))


@pytest.mark.parametrize("source", [STRIKE, EXPIRY, NAME])
async def test_a_plan_goes_on_under_the_new_id_from_entry_to_exit(source, trading, autojump_clock):
    answer = await armed(trading)
    publish(trading.day, rename(trading.day, source))
    await trio.sleep(2)
    await trading.move(-2)
    assert await trading.until_messages(2) == [("place", "BUY", 100, "LIMIT"), ("place", "SELL", 100, "SL")]
    await trading.move(4)
    parent = await trading.until(answer, "completed")
    assert {leg["filled_quantity"] for leg in parent["legs"]} == {0, 100}
    record = await stored_record(trading.day.store, answer.body["parent_id"])
    assert record.instrument_id == trading.share.instrument_id
    assert {leg.instrument_id for leg in record.legs} <= {trading.share.instrument_id, ""}


async def test_a_service_that_was_away_on_that_morning_follows_at_its_start(day, autojump_clock):
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer = await armed(trading)
        publish(day, rename(day))
        async with day.service(quotes=True):
            trading = Trading(day)
            await trading.move(-2)
            assert (await trading.until_messages(2))[0] == ("place", "BUY", 100, "LIMIT")
            assert (
                await stored_record(day.store, answer.body["parent_id"])
            ).instrument_id == trading.share.instrument_id


async def test_with_another_lot_the_plan_is_left_as_it_is_and_says_so(trading, autojump_clock):
    answer = await armed(trading)
    publish(trading.day, rename(trading.day, STRIKE_AND_LOT))
    await trio.sleep(2)
    await trading.move(-2)
    await trio.sleep(60)
    assert trading.messages() == []
    assert "the size of the lot" in (await trading.parent(answer))["status_message"]


async def test_only_plans_of_before_that_day_follow(trading, autojump_clock):
    answer = await armed(trading)
    record = await stored_record(trading.day.store, answer.body["parent_id"])
    assert followed(record, [rename(trading.day, days=0)]) is record
    moved = followed(record, [rename(trading.day)])
    assert moved.instrument_id == trading.share.instrument_id
    assert moved.body == record.body
    assert followed(moved, [rename(trading.day)]) is moved


async def test_a_plan_follows_every_change_with_the_same_lot_and_no_other(trading, autojump_clock):
    record = await stored_record(trading.day.store, (await armed(trading)).body["parent_id"])
    new = trading.share.instrument_id
    moved = {
        source: followed(record, [rename(trading.day, source)]).instrument_id for source in (*SAME_LOT, *OTHER_LOT)
    }
    assert moved == dict.fromkeys(SAME_LOT, new) | dict.fromkeys(OTHER_LOT, OLD)
