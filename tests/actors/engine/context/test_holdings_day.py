"""The holdings of one day: a read that lacks a row, and brokers that take sold shares out at once, take nothing from an exit."""

from onebroker.actors.engine.context.holdings_day import HoldingsDay
from onebroker.brokers.records import HoldingRow


def row(units, *, token="1", isin="INE1", t1=0):
    return HoldingRow(
        instrument_token=token, tradingsymbol="A", exchange="NSE", isin=isin, settled_quantity=units, t1_quantity=t1
    )


def day(*reads):
    day = HoldingsDay()
    for read in reads:
        day.take(read)
    return day


def test_nothing_is_known_before_the_first_read():
    assert not HoldingsDay().is_read
    assert day(()).is_read


def test_a_read_that_lacks_a_row_and_a_sale_that_the_broker_takes_out_at_once_take_nothing():
    assert day([row(100)], []).units(["1"], "INE1") == 100
    assert day([row(100)], [row(60)]).units(["1"], "INE1") == 100
    assert day([row(0)], [row(10, t1=30)]).units(["1"], "INE1") == 40


def test_a_share_is_found_by_its_tokens_or_its_isin_and_counts_once():
    rows = [row(100), row(7, token="2"), row(5, token="3", isin=None), row(9, token="4", isin="INE4")]
    assert day(rows).units(["1"], "INE1") == 107
    assert day(rows).units(["1", "2"], "INE1") == 107
    assert day(rows).units(["3"], None) == 5
    assert day(rows).units(["5"], None) == 0
