"""Adjustment factors and instruments entered by hand: asked of the durable store in memory and of SQLite."""

from datetime import date
from decimal import Decimal

import attrs

from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_history import DailyLoad, Factor
from onebroker.actors.store.merge_result import Merged
from onebroker.config.instruments import option, security

SHARE = security("nse", "equities", "ONE")
OTHER = security("bse", "equities", "ONE")
SPLIT = Factor(
    instrument_id=SHARE.instrument_id,
    ex_date=date(2024, 6, 3),
    kind="split",
    price_factor=Decimal("0.2"),
    volume_factor=Decimal("5"),
    source="exchange notice",
)
DIVIDEND = attrs.evolve(SPLIT, kind="dividend", price_factor=Decimal("0.98765"), volume_factor=Decimal(1))


async def test_factors_come_by_ex_date_and_those_of_others_are_apart(durable: Durable) -> None:
    older = attrs.evolve(SPLIT, ex_date=date(2019, 1, 2))
    apart = attrs.evolve(SPLIT, instrument_id=OTHER.instrument_id)
    assert await durable.put_factors([SPLIT, DIVIDEND, older, apart]) == Merged(added=4)
    assert await durable.factors(SHARE.instrument_id) == (older, DIVIDEND, SPLIT)
    assert set(await durable.factors(None)) == {older, DIVIDEND, SPLIT, apart}
    assert await durable.factors("nobody") == ()


async def test_the_same_factor_again_is_equal_and_another_figure_replaces_it(durable: Durable) -> None:
    await durable.put_factors([SPLIT])
    changed = attrs.evolve(SPLIT, price_factor=Decimal("0.5"))
    assert await durable.put_factors([SPLIT, DIVIDEND, changed, changed]) == Merged(added=1, replaced=1, equal=2)
    assert await durable.factors(SHARE.instrument_id) == (DIVIDEND, changed)


async def test_an_instrument_entered_by_hand_keeps_its_identity(durable: Durable) -> None:
    expired = option("nse", "equity_index_options", "NIFTY", date(2020, 1, 30), 12000.5, "CE")
    await durable.put_history_instruments([SHARE, expired])
    await durable.put_history_instruments([SHARE])
    assert await durable.history_instrument(expired.instrument_id) == expired
    assert await durable.history_instrument(SHARE.instrument_id) == SHARE
    assert await durable.history_instrument(OTHER.instrument_id) is None


async def test_how_far_the_daily_load_has_come_stands_by_market(durable: Durable) -> None:
    assert await durable.daily_loads() == ()
    equity = DailyLoad(market="nse equity", last_day=date(2026, 11, 20), loaded_at=1.5, instruments=3, failed=1)
    commodity = attrs.evolve(equity, market="mcx commodity", failed=0)
    for load in (equity, commodity, later := attrs.evolve(equity, last_day=date(2026, 11, 23), failed=0)):
        await durable.put_daily_load(load)
    assert await durable.daily_loads() == (commodity, later)


async def test_what_a_backfill_has_done_stands_in_order_until_it_is_forgotten_or_grows_old(durable: Durable) -> None:
    for name, at, body in (
        ("a", 10.0, b"1"),
        ("b", 11.0, b"x"),
        ("a", 12.0, b"2"),
        ("a", 12.0, b"2"),
        ("c", 5.0, b"old"),
    ):
        await durable.add_backfill_part(name, at, body)
    assert await durable.backfill_parts("a") == (b"1", b"2", b"2")
    await durable.forget_backfill("a", 6.0)
    assert [await durable.backfill_parts(name) for name in "abc"] == [(), (b"x",), ()]
