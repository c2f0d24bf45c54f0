"""Adjustment factors and instruments entered by hand: asked of the durable store in memory and of SQLite."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import attrs
import pytest

from onebroker.actors.store.durable import Durable, MemoryDurable, SqliteDurable
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.merged import Merged
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


@pytest.fixture(params=["memory", "sqlite"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Durable:
    return MemoryDurable() if request.param == "memory" else SqliteDurable(tmp_path / "onebroker.sqlite")


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
