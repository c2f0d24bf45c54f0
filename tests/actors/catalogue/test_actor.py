"""The catalogue actor over a file server, stores in memory and a mocked clock."""

import csv
import gzip
import io
from datetime import date, datetime, timedelta

import msgspec
import pytest
import trio

from onebroker.actors.catalogue.builder import BuildFailed
from onebroker.actors.catalogue.contract_renames import STRIKE
from onebroker.actors.catalogue.messages import BuildNow, GetSnapshot
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.store.durable import DurableError
from onebroker.brokers.requests import NotSent
from onebroker.config.clock import IST
from onebroker.config.events import CatalogueBuilt

NINE = datetime(2026, 11, 23, 9, 30, tzinfo=IST)
NIGHT = datetime(2026, 11, 23, 0, 10, tzinfo=IST)


async def test_the_first_start_builds_at_once_and_publishes(autojump_clock, world, market):
    house = world()
    async with house.running() as running:
        assert not running.published.value.published_today
        state = await running.mapped()
    assert (state.published_today, state.reason, state.lost) == (True, "", {})
    assert state.latest.mapping_date == date(2026, 11, 23)
    assert all(state.latest.instrument(name.contract.instrument_id) for name in market.names["zerodha"])
    (file,) = await house.durable.catalogue_files()
    assert (file.file, file.counts["zerodha"]) == ("2026-11-23.arrow", len(market.names["zerodha"]))
    assert [child.name for child in house.folder.iterdir()] == ["2026-11-23.arrow"]
    built = CatalogueBuilt(day="2026-11-23", instruments=state.latest.count, brokers=("upstox", "zerodha"))
    assert house.heard == [built]


async def test_a_restart_serves_the_stored_mapping_before_anything_is_fetched(autojump_clock, world):
    house = world()
    async with house.running() as running:
        await running.mapped()
    asked = len(house.server.requests)
    async with house.running() as running:
        state = running.published.value
        assert state.latest is not None
        assert state.published_today
        await trio.sleep(60)
    assert len(house.server.requests) == asked
    assert len(house.heard) == 1  # a stored list is no new list


async def test_the_search_over_all_segments_is_there_after_a_build_and_after_a_restart(autojump_clock, world):
    house = world()
    async with house.running() as running:
        assert (await running.mapped()).latest.finder is not None
    async with house.running() as running:
        await running.until(lambda state: state.latest.finder is not None)


async def test_a_search_that_cannot_be_built_costs_nothing_else(autojump_clock, world, monkeypatch, caplog):
    def build_finder(snapshot):
        raise ValueError("no words")

    monkeypatch.setattr(TableSnapshot, "build_finder", build_finder)
    house = world()
    async with house.running() as running:
        state = await running.mapped()
    assert (state.published_today, state.latest.finder) == (True, None)
    assert "the search over the instruments of 2026-11-23 cannot be built: no words" in caplog.text


async def test_a_new_day_is_built_at_half_past_eight_and_an_equal_one_shares_the_file(autojump_clock, world):
    house = world()
    async with house.running() as running:
        first = (await running.mapped()).latest
        await running.until(lambda state: state.latest is not first)
        assert house.clock.now().time().hour == 8
        assert house.clock.today() == date(2026, 11, 24)
        assert running.published.value.published_today
    newest, oldest = await house.durable.catalogue_files()
    assert (newest.mapping_date, newest.file) == (date(2026, 11, 24), oldest.file)


async def test_a_mapping_made_at_night_is_made_again_in_the_morning(autojump_clock, world):
    house = world(NIGHT)
    async with house.running() as running:
        first = (await running.mapped()).latest
        assert running.published.value.published_today
        await running.until(lambda state: state.latest is not first)
        assert (house.clock.today(), house.clock.now().hour) == (date(2026, 11, 23), 8)


async def test_while_a_days_build_fails_orders_may_rest_on_the_old_mapping_until_nine_only(autojump_clock, world):
    house = world()
    async with house.running() as running:
        await running.mapped()
        house.server.status = {"zerodha": 503, "upstox": 503}
        state = await running.until(lambda state: not state.published_today)
        assert house.clock.now() == NINE.replace(hour=9, minute=0) + timedelta(days=1)
        assert state.latest.mapping_date == date(2026, 11, 23)
        assert "zerodha: its file was answered with HTTP 503" in state.reason
        house.server.status = {}
        state = await running.until(lambda state: state.published_today)
        assert state.latest.mapping_date == date(2026, 11, 24)


async def test_a_broker_without_a_file_is_lost_until_a_later_build_brings_it(autojump_clock, world):
    house = world()
    house.server.raising["upstox"] = NotSent("the connection was refused")
    async with house.running() as running:
        state = await running.mapped()
        assert state.lost == {"upstox": "the connection was refused"}
        assert state.published_today
        assert state.latest.listings("upstox") == {}
        house.server.raising.clear()
        state = await running.until(lambda state: not state.lost)
        assert len(state.latest.listings("upstox")) > 300
        assert house.clock.now() < NINE + timedelta(minutes=2)


async def test_a_lost_broker_is_still_looked_for_after_a_restart(autojump_clock, world):
    house = world()
    house.server.raising["upstox"] = NotSent("the connection was refused")
    async with house.running() as running:
        await running.mapped()
    house.server.raising.clear()
    async with house.running() as running:
        assert running.published.value.lost == {"upstox": "the connection was refused"}
        await running.until(lambda state: not state.lost)


async def test_a_build_on_demand_that_would_lose_a_broker_replaces_nothing(autojump_clock, world):
    house = world()
    async with house.running() as running:
        before = (await running.mapped()).latest
        house.server.bodies["zerodha"] = b"<html>"
        with pytest.raises(BuildFailed, match="it would lose zerodha"):
            await running.address.ask(BuildNow, 60)
        assert running.published.value.latest is before
        assert running.published.value.published_today


async def test_two_demands_share_one_build(autojump_clock, world):
    house = world()
    reports = []
    async with house.running() as running:
        await running.mapped()
        asked = len(house.server.requests)

        async def demand():
            reports.append(await running.address.ask(BuildNow, 60))

        async with trio.open_nursery() as both:
            both.start_soon(demand)
            both.start_soon(demand)
        assert len(house.server.requests) == asked + 2
    assert reports[0] is reports[1]


async def test_an_older_date_is_answered_from_its_own_file(autojump_clock, world):
    house = world()
    async with house.running() as running:
        first = (await running.mapped()).latest
        house.server.bodies["zerodha"] = house.server.bodies["zerodha"].rsplit(b"\n", 2)[0] + b"\n"
        await running.until(lambda state: state.latest is not first)

        async def on(day):
            return await running.address.ask(lambda reply: GetSnapshot(day, reply), 10)

        assert await on(date(2026, 11, 22)) is None
        older = await on(date(2026, 11, 23))
        assert older.mapping_date == date(2026, 11, 23)
        assert len(older.listings("zerodha")) == len(first.listings("zerodha"))
        assert await on(date(2027, 1, 1)) is running.published.value.latest


async def test_a_mapping_serves_even_when_the_durable_store_is_away(autojump_clock, world):
    house = world()
    async with house.running() as running:
        house.durable.fail_with(DurableError("disk"))
        state = await running.mapped()
        assert state.published_today
        house.durable.come_back()
        await trio.sleep(120)
        assert len(await house.durable.catalogue_files()) == 1
        assert running.crashes.records() == ()


async def test_a_file_that_cannot_be_mapped_is_passed_over_and_built_again(autojump_clock, world):
    house = world()
    async with house.running() as running:
        await running.mapped()
    (house.folder / "2026-11-23.arrow").write_bytes(b"rubbish")
    async with house.running() as running:
        assert running.published.value.latest is None
        assert (await running.mapped()).published_today


def with_adjusted_strikes(bodies, underlying, less):
    """Both files with every strike of a share's options lowered: numbers, expiries and sides stay."""
    rows = list(csv.reader(io.StringIO(bodies["zerodha"].decode())))
    named = {name: place for place, name in enumerate(rows[0])}
    for row in rows[1:]:
        if row[named["name"]] == underlying and row[named["instrument_type"]] in ("CE", "PE"):
            row[named["strike"]] = str(float(row[named["strike"]]) - less)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    listed = msgspec.json.decode(gzip.decompress(bodies["upstox"]))
    for row in listed:
        if row.get("underlying_symbol") == underlying and row["instrument_type"] in ("CE", "PE"):
            row["strike_price"] -= less
    return {"zerodha": out.getvalue().encode(), "upstox": gzip.compress(msgspec.json.encode(listed))}


async def test_contracts_whose_strikes_were_adjusted_are_known_again_also_after_a_restart(
    autojump_clock, world, market
):
    day = date(2026, 11, 24)
    of_shares = [
        one.identity
        for one in market.universe.contracts
        if one.bare == "equity_options" and one.identity.expiry_date >= "2026-11-24"
    ]
    underlying = of_shares[0].underlying_symbol
    old = {one.instrument_id for one in of_shares if one.underlying_symbol == underlying}
    house = world()
    async with house.running() as running:
        first = (await running.mapped()).latest
        house.server.bodies = with_adjusted_strikes(house.server.bodies, underlying, 0.35)
        state = await running.until(lambda state: state.latest is not first)
        assert {one.old_id for one in state.renames} == old
    assert {(one.from_day, one.source) for one in state.renames} == {(day, STRIKE)}
    for one in state.renames:
        before, now = first.instrument(one.old_id).identity, state.latest.instrument(one.new_id).identity
        assert before.strike_price - now.strike_price == pytest.approx(0.35)
        assert (before.expiry_date, before.option_type) == (now.expiry_date, now.option_type)
    assert await house.durable.renames() == state.renames
    async with house.running() as running:
        assert running.published.value.renames == state.renames
