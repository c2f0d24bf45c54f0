"""Quantities sized by the position: side, quantity, and where it lies (rules 2.6; order-engine 4.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.orders.reference_values import QuantityKind, QuantityReference
from onebroker.actors.engine.references.sizing import close, net_units
from onebroker.brokers.records import PositionRow, in_contracts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side
from tests.support.every_case import every_case

REDUCE, LIQUIDATE = (QuantityReference(kind=kind) for kind in (QuantityKind.REDUCE, QuantityKind.LIQUIDATE))


def row(quantity, *, view="net", product="CNC", token="7"):
    return PositionRow(
        position_key=f"{token}.{product}.{view}",
        view=view,
        product=product,
        instrument_token=token,
        tradingsymbol="INFY",
        exchange="NSE",
        quantity=quantity,
    )


@every_case(
    ("reference", "quantity", "nets", "expected"),
    [
        (LIQUIDATE, None, {"zerodha": 100}, (Side.SELL, 100, (("zerodha", 100),))),
        (LIQUIDATE, 5, {"zerodha": 100}, (Side.SELL, 100, (("zerodha", 100),))),  # the body's own is not looked at
        (LIQUIDATE, None, {"zerodha": -30}, (Side.BUY, 30, (("zerodha", 30),))),
        (REDUCE, 40, {"zerodha": 100}, (Side.SELL, 40, (("zerodha", 40),))),
        (REDUCE, 400, {"zerodha": 100}, (Side.SELL, 100, (("zerodha", 100),))),
        (REDUCE, None, {"zerodha": 100}, (Side.SELL, 100, (("zerodha", 100),))),
        (REDUCE, 40, {"upstox": 30, "zerodha": 100}, (Side.SELL, 40, (("zerodha", 40),))),
        (LIQUIDATE, None, {"upstox": 30, "zerodha": 100}, (Side.SELL, 130, (("zerodha", 100), ("upstox", 30)))),
        # opposite sides at two brokers: the sum is what is closed, at the one that holds enough
        (LIQUIDATE, None, {"upstox": -30, "zerodha": 100}, (Side.SELL, 70, (("zerodha", 70),))),
        (REDUCE, 40, {"upstox": 40, "zerodha": 40}, (Side.SELL, 40, (("upstox", 40),))),
    ],
)
def test_sizes_worked_out_by_hand(reference, quantity, nets, expected):
    sized = close(reference, quantity, nets)
    assert (sized.side, sized.quantity, sized.shares) == expected


@pytest.mark.parametrize("kind", [QuantityKind.REDUCE, QuantityKind.LIQUIDATE])
@pytest.mark.parametrize("nets", [{}, {"zerodha": 0}, {"zerodha": 50, "upstox": -50}])
def test_without_a_position_there_is_nothing_to_close(kind, nets):
    with pytest.raises(Refusal) as refused:
        close(QuantityReference(kind=kind), 10, nets)
    sentence = f"a {kind} quantity_reference found no open position in this instrument, so there is nothing to close"
    assert (refused.value.status, refused.value.sentence) == (409, sentence)


@given(
    nets=st.dictionaries(st.sampled_from("abcdef"), st.integers(-1000, 1000)),
    quantity=st.none() | st.integers(1, 3000),
    reference=st.sampled_from([REDUCE, LIQUIDATE]),
)
def test_no_broker_is_sent_more_than_it_holds_and_the_position_is_never_turned_round(nets, quantity, reference):
    position = sum(nets.values())
    if position == 0:
        return
    sized = close(reference, quantity, nets)
    assert sum(share for _, share in sized.shares) == sized.quantity <= abs(position)
    assert position * sized.side.sign < 0
    for broker, share in sized.shares:
        assert 0 < share <= -nets[broker] * sized.side.sign
    assert len(sized.shares) == 1 or sized.quantity > max(
        abs(net) for net in nets.values() if net * sized.side.sign < 0
    )


def test_net_rows_of_the_instrument_are_added_up():
    rows = [row(10), row(-4, product="MIS"), row(99, token="8"), row(99, view="day"), row(1, product="MTF")]
    assert net_units("zerodha", rows, "7", None) == 7
    for product, units in {"delivery": 10, "intraday": -4, "margin_trading": 1, "carry": 0}.items():
        assert net_units("zerodha", rows, "7", product) == units
    assert net_units("zerodha", rows, "9", None) == 0
    assert net_units("zerodha", [row(0, view="day")], "7", None) == 0


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [row(10, view="day")],
            "the positions of dhan carry no net rows, so the quantity reference was not worked out",
        ),
        (
            [in_contracts(row(2))],
            "dhan gives its position in this instrument in contracts of an unknown size, so it cannot be closed by reference",
        ),
    ],
)
def test_rows_that_do_not_say_what_is_held_are_a_503(rows, sentence):
    with pytest.raises(Refusal) as refused:
        net_units("dhan", rows, "7", None)
    assert (refused.value.status, refused.value.sentence) == (503, sentence)
