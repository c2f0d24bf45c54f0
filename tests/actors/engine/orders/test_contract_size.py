"""How far brokers agree on the units of a currency or commodity contract (order-engine 4.3)."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.orders.contract_size import SizeStatus, contract_size
from onebroker.brokers.records import Listing
from onebroker.config.instruments import future, security
from tests.support.every_case import every_case

CRUDE = future("mcx", "commodity_futures", "CRUDEPALM", date(2026, 11, 24))
"""Not one of those whose size the exchange's table says."""
DOLLAR = future("nse", "currency_futures", "USDINR", date(2026, 11, 24))
NIFTY = future("nse", "equity_index_futures", "NIFTY", date(2026, 11, 24))


def of(*sizes, identity=CRUDE):
    listings = {
        f"broker {n}": Listing(broker_token=str(n), tradingsymbol="C", exchange="MCX", lot_size=size)
        for n, size in enumerate(sizes)
    }
    return contract_size(
        Instrument(
            instrument_id="i", identity=identity, name=None, isin=None, lot_size=None, tick_size=None,
            freeze_quantity=None, listings=listings,
        )
    )  # fmt: skip


@every_case(
    ("sizes", "status", "trusted"),
    [
        ((100, 100), "agreed", 100),
        ((100, 100, None), "agreed", 100),
        ((100, 100, 10), "majority", 100),
        ((100, 100, 10, None), "majority", 100),
        ((100,), "single", None),
        ((100, None, None), "single", None),
        ((100, 10), "disputed", None),
        ((100, 100, 10, 10), "disputed", None),
        ((100, 100, 10, 1), "disputed", None),
        ((None, None), "unknown", None),
        ((), "unknown", None),
    ],
)
def test_the_status_says_how_far_they_agree_and_which_size_is_trusted(sizes, status, trusted):
    found = of(*sizes)
    assert (found.status.value, found.trusted) == (status, trusted)


@given(st.lists(st.sampled_from([None, 1, 10, 100]), max_size=10))
def test_a_trusted_size_is_that_of_more_than_half_and_of_two_at_least(sizes):
    found, told = of(*sizes), [size for size in sizes if size is not None]
    if found.trusted is not None:
        assert told.count(found.trusted) >= 2
        assert 2 * told.count(found.trusted) > len(told)
    else:
        assert not any(told.count(size) >= 2 and 2 * told.count(size) > len(told) for size in told)
    assert (found.status is SizeStatus.AGREED) == (len(told) >= 2 and len(set(told)) == 1)


def test_a_broker_whose_quantities_are_not_understood_tells_nothing():
    listings = {
        code: Listing(broker_token=code, tradingsymbol="C", exchange="MCX", lot_size=100, contract_units=units)
        for code, units in (("zerodha", 100), ("dhan", None))
    }
    found = Instrument(
        instrument_id="i", identity=CRUDE, name=None, isin=None, lot_size=100, tick_size=None, freeze_quantity=None,
        listings=listings,
    )  # fmt: skip
    assert contract_size(found).status is SizeStatus.SINGLE


def test_of_mcx_the_exchanges_own_size_counts_whatever_files_make_of_it():
    gold = future("mcx", "commodity_futures", "GOLDM", date(2026, 12, 4))
    for sizes in ((100, 100, 100), (10,), (None,), (), (10, 100)):
        assert (of(*sizes, identity=gold).status, of(*sizes, identity=gold).trusted) == (SizeStatus.AGREED, 10)
    bullion = [
        future("mcx", "commodity_index_futures", "MCXBULLDEX", day) for day in (date(2026, 10, 28), date(2026, 11, 25))
    ]
    assert [of(15, 15, identity=each).trusted for each in bullion] == [30, 15]


def test_only_contracts_on_currencies_and_commodities_have_one():
    assert of(1000, 1000, identity=DOLLAR).trusted == 1000
    assert of(65, 65, identity=NIFTY) is None
    assert of(1, 1, identity=security("mcx", "commodities", "GOLD")) is None
