"""The self-check finds what was planted, and nothing in a store that is whole."""

from datetime import date, timedelta
from decimal import Decimal

import attrs
import pytest

from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.store_check import MarketDays, check_store, missing_days
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.instruments import security

NAMES = ("ONE", "TWO", "THREE", "FOUR")
IDENTITIES = {one.instrument_id: one for one in (security("nse", "equities", name) for name in NAMES)}
IDS = tuple(IDENTITIES)
START = date(2024, 1, 1)
MINUTE = 60_000_000


def day(number):
    return START + timedelta(days=number)


async def identity_of(instrument_id):
    return IDENTITIES.get(instrument_id)


@attrs.define
class House:
    store: MemoryHistory
    durable: MemoryDurable
    staged: object
    rows: object

    async def put(self, instrument_id, closes, **given):
        """Put day candles, by the number of their day; each opens at the close before."""
        last, rows = None, []
        for number, close in closes.items():
            opened = close if last is None else given.get("open", last)
            rows.append(self.rows.candle(day_start(day(number)), instrument_id=instrument_id, open=opened, close=close,
                                         high=max(opened, close), low=min(opened, close)))  # fmt: skip
            last = close
        await self.store.put_candles(self.staged.candles(*rows))

    async def found(self):
        return [
            (IDENTITIES[one.instrument_id].symbol, one.interval, one.kind, one.day, one.detail)
            for one in (await check_store(self.store, self.durable, identity_of)).findings
        ]


@pytest.fixture
def house(staged, rows):
    return House(MemoryHistory(), MemoryDurable(), staged, rows)


async def test_a_store_that_is_whole_has_no_findings_and_holidays_are_no_gaps(house):
    for number, one in enumerate(IDS):
        await house.put(one, dict.fromkeys([0, 1, 2, 5, 6, 9][number % 2 :], 100.0))
    assert await house.found() == []


async def test_days_on_which_the_market_traded_and_a_series_has_no_candle_are_gaps(house):
    for one in IDS[:3]:
        await house.put(one, dict.fromkeys(range(10), 100.0))
    await house.put(IDS[3], dict.fromkeys([1, 2, 6, 8], 100.0))
    assert await house.found() == [
        ("FOUR", "day", "gap", day(3), "no candle on 2024-01-04 to 2024-01-06"),
        ("FOUR", "day", "gap", day(7), "no candle on 2024-01-08"),
    ]


async def test_candles_closer_than_their_interval_are_duplicates(house):
    times = [0, 5, 7, 10]
    await house.store.put_candles(house.staged.candles(
        *(house.rows.candle(day_start(START) + time * MINUTE, instrument_id=IDS[0], minutes=5) for time in times)
    ))  # fmt: skip
    assert await house.found() == [
        ("ONE", "5minute", "duplicate", START, "the candle at 00:07:00 lies inside the one before it"),
        ("ONE", "5minute", "duplicate", START, "the candle at 00:10:00 lies inside the one before it"),
    ]


async def test_a_jump_over_night_is_found_unless_a_factor_explains_it(house):
    for one in IDS[:2]:
        await house.put(one, {0: 100.0, 1: 50.0}, open=50.0)
    split = Factor(instrument_id=IDS[0], ex_date=day(1), kind="split", price_factor=Decimal("0.5"),
                   volume_factor=Decimal(2), source="test")  # fmt: skip
    await house.durable.put_factors([split])
    detail = "opened -50.0% from the close before, with all factors applied"
    assert await house.found() == [("TWO", "day", "jump", day(1), detail)]
    await house.durable.put_factors([attrs.evolve(split, ex_date=day(2))])
    await house.durable.put_factors([attrs.evolve(split, price_factor=Decimal("0.1"))])
    assert (
        "ONE",
        "day",
        "jump",
        day(1),
        "opened +400.0% from the close before, with all factors applied",
    ) in await house.found()


async def test_thirty_percent_is_no_jump_and_an_index_may_jump(house):
    await house.put(IDS[0], {0: 100.0, 1: 130.0}, open=130.0)
    assert await house.found() == []
    await house.put(IDS[0], {0: 100.0, 1: 130.0}, open=130.5)
    assert len(await house.found()) == 1
    nifty = security("nse", "equity_indices", "ONE")

    async def index(_):
        return nifty

    assert (await check_store(house.store, house.durable, index)).findings == []


def test_a_day_of_one_series_alone_is_no_market_day():
    market = MarketDays()
    for days in ([1, 2, 3, 4], [1, 3, 4], [3, 4, 9]):
        market.add(days)
    assert market.traded() == [1, 3, 4]
    assert list(missing_days([1, 9], [1, 3, 4, 9, 12])) == [(3, 4)]
