"""Which broker gets an order, who is passed over and why, and the refusal when nobody is left (order-engine 4.1, 4.3-4.6)."""

import attrs
import msgspec
import pytest

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.choice.checks import CHECKS, Candidate, Skipped, Why, first_failure
from onebroker.actors.engine.choice.choose import none_left
from onebroker.actors.engine.choice.ranking import ranked
from onebroker.actors.engine.messages import PlaceBody
from onebroker.actors.sessions.view import LoginState, SessionView
from onebroker.brokers.records import HoldingRow, Listing, PositionRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.transport.budget import BudgetRoom
from onebroker.config.instruments import identity_from_fields

BROKERS = build_registry()
LISTING = Listing(
    broker_token="1", tradingsymbol="A", exchange="NSE", lot_size=5, tick_size=0.05, freeze_quantity=100, contract_units=1
)  # fmt: skip


def instrument(segment="nse_equities", listings=None):
    fields = {"segment": segment, "shape": "security", "exchange": "nse", "symbol": "A", "series": "EQ"}
    return Instrument(
        instrument_id="i", identity=identity_from_fields(fields), name="A", isin="INE1", lot_size=5, tick_size=0.05,
        freeze_quantity=100, listings={"zerodha": LISTING, "upstox": LISTING} if listings is None else listings,
    )  # fmt: skip


def order(**changes):
    fields = {
        "instrument": instrument(), "transaction_type": "BUY", "product": "CNC", "order_type": "MARKET",
        "validity": "DAY", "quantity": 10, "disclosed_quantity": 0, "price": None, "trigger_price": None,
        "after_market": False, "tag": None, "broker": None, "closes_position": False, "sent": {}, **changes,
    }  # fmt: skip
    return PlaceBody(**fields)


def room(**changes):
    known = {"entry_room": 8, "order_messages_today": 0, "daily_cap": None, "exit_reserve": 0, **changes}
    fields = {field.name: None for field in attrs.fields(BudgetRoom)}
    return BudgetRoom(**{**fields, **known})


def candidate(code="zerodha", **changes):
    view = changes.pop("view", {})
    body = changes.pop("order", order())
    shown = SessionView(broker=code, **{"login": LoginState.LIVE, "room": room(), **view})
    return Candidate(
        broker=BROKERS[code], view=shown, order=body, **{"excluded": False, "exit": body.closes_position, **changes}
    )


WITHOUT_SIZE = {"zerodha": msgspec.structs.replace(LISTING, contract_units=None)}
CURRENCY = instrument("nse_currency_futures")
NEARLY_SPENT = {"room": room(order_messages_today=90, daily_cap=100, exit_reserve=10)}

FAILING = (
    ("excluded by configuration", {"excluded": True}),
    ("zerodha has no login in Redis", {"view": {"login": LoginState.NEEDED}}),
    ("does not carry this instrument", {"order": order(instrument=instrument(listings={"upstox": LISTING}))}),
    ("does not take CNC orders in currency_futures", {"order": order(instrument=CURRENCY)}),
    ("quantity is not a whole number of lots of 5", {"order": order(quantity=7)}),
    ("contract size unknown", {"order": order(instrument=instrument(listings=WITHOUT_SIZE))}),
    ("quantity is above the freeze quantity of 100", {"order": order(quantity=105)}),
    ("did not answer its last 3 orders", {"unanswered": 3}),
    (
        "zerodha has been sent 90 order messages today, and the last 10 of its 100 are kept for orders that close a position",
        {"view": NEARLY_SPENT},
    ),
)
"""In the order of the checks."""


def test_a_broker_that_can_take_the_order_fails_no_check():
    assert first_failure(candidate()) is None


@pytest.mark.parametrize(("reason", "flaw"), FAILING)
def test_each_check_passes_a_broker_over_with_its_reason(reason, flaw):
    assert first_failure(candidate(**flaw)).reason == reason


def test_each_check_has_its_flaw_and_they_are_made_in_order():
    failed = [next(place for place, check in enumerate(CHECKS) if check(candidate(**flaw))) for _, flaw in FAILING]
    assert failed == list(range(len(CHECKS)))


@pytest.mark.parametrize(
    ("word", "changes"),
    [
        ("GTC", {"validity": "GTC"}),
        ("BASKET", {"order_type": "BASKET"}),
        ("CNC", {"instrument": instrument("ncdex_thing")}),
    ],
)
def test_what_a_broker_does_not_offer_is_named(word, changes):
    reason = first_failure(candidate(order=order(**changes))).reason
    assert reason.startswith(f"does not take {word} orders in ")


def with_freeze(zerodha, upstox, agreed=100):
    listings = {
        code: msgspec.structs.replace(LISTING, freeze_quantity=freeze)
        for code, freeze in (("zerodha", zerodha), ("upstox", upstox))
    }
    return attrs.evolve(instrument(listings=listings), freeze_quantity=agreed)


@pytest.mark.parametrize(("own", "agreed", "most"), [(None, 100, 100), (200, 100, 200), (50, 100, 50)])
def test_the_freeze_quantity_is_the_brokers_own_or_else_what_the_files_agree_on(own, agreed, most):
    found = with_freeze(own, None, agreed)
    assert first_failure(candidate(order=order(instrument=found, quantity=most))) is None
    failure = first_failure(candidate(order=order(instrument=found, quantity=most + 5)))
    assert (failure.reason, failure.why) == (f"quantity is above the freeze quantity of {most}", Why.FREEZE)


def test_a_freeze_quantity_no_file_knows_is_not_checked():
    assert first_failure(candidate(order=order(instrument=with_freeze(None, None, None), quantity=10**9))) is None


def test_above_every_freeze_quantity_the_answer_names_the_largest_that_was_possible():
    skipped = tuple(Skipped(code, "above", Why.FREEZE) for code in ("upstox", "zerodha"))
    answer = none_left(order(instrument=with_freeze(150, None), quantity=500), skipped)
    assert answer.status == 400
    assert answer.body["error"] == "quantity is above the freeze quantity of 150, so send it as a freeze_slicer"


def test_a_close_pinned_to_a_broker_is_stopped_neither_by_the_exclusion_list_nor_by_unanswered_orders():
    close = order(broker="zerodha", closes_position=True)
    assert first_failure(candidate(order=close, excluded=True, unanswered=3)) is None
    assert first_failure(candidate(order=order(broker="zerodha"), excluded=True)) is not None


def test_a_close_may_use_the_whole_daily_cap():
    assert first_failure(candidate(order=order(closes_position=True), view=NEARLY_SPENT)) is None
    spent = {"room": room(order_messages_today=100, daily_cap=100, exit_reserve=10)}
    failure = first_failure(candidate(order=order(closes_position=True), view=spent))
    assert failure.reason == "zerodha has been sent 100 order messages today, which is all of its 100"


def codes(*candidates):
    return [one.broker.code for one in ranked(candidates)]


def test_the_broker_with_most_room_comes_first_then_fewest_messages_then_the_code():
    zerodha, upstox = candidate(), candidate("upstox")
    assert codes(zerodha, upstox) == ["upstox", "zerodha"]
    assert codes(candidate("upstox", view={"room": room(entry_room=3)}), zerodha) == ["zerodha", "upstox"]
    assert codes(candidate("upstox", view={"room": room(order_messages_today=4)}), zerodha) == ["zerodha", "upstox"]


def holding(quantity, **changes):
    fields = {"instrument_token": "1", "tradingsymbol": "A", "exchange": "NSE", "isin": "INE1", **changes}
    return HoldingRow(settled_quantity=quantity, **fields)


def position(quantity, view="net", product="CNC"):
    return PositionRow(
        position_key="k", view=view, product=product, instrument_token="1", tradingsymbol="A", exchange="NSE",
        quantity=quantity,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "changes", "held"),
    [
        ("zerodha", {"transaction_type": "SELL"}, {"holdings": (holding(10),)}),
        ("zerodha", {"transaction_type": "SELL"}, {"holdings": (holding(4, t1_quantity=6),)}),
        ("zerodha", {"transaction_type": "SELL"}, {"holdings": (holding(10, instrument_token="bse"),)}),
        ("upstox", {"transaction_type": "SELL"}, {"holdings": (holding(5),)}),
        ("upstox", {"transaction_type": "SELL"}, {"holdings": (holding(10),), "positions": (position(-5),)}),
        ("upstox", {"transaction_type": "BUY"}, {"holdings": (holding(10),)}),
        ("upstox", {"transaction_type": "SELL", "product": "MIS"}, {"holdings": (holding(10),)}),
        ("zerodha", {"transaction_type": "BUY", "product": "MIS"}, {"positions": (position(-10, product="MIS"),)}),
        ("upstox", {"transaction_type": "BUY", "product": "MIS"}, {"positions": (position(-10, "day", "MIS"),)}),
        ("upstox", {"transaction_type": "BUY", "product": "MIS"}, {"positions": (position(-10),)}),
    ],
)
def test_an_order_goes_first_to_the_broker_whose_holding_the_whole_of_it_reduces(first, changes, held):
    body = order(**changes)
    assert codes(candidate(order=body, view=held), candidate("upstox", order=body))[0] == first


@pytest.mark.parametrize(
    ("whys", "status", "error"),
    [
        ((Why.CAP, Why.CAP), 429, "reason 0"),
        ((Why.RATE, Why.RATE), 503, "the order rate budget is full, so this order was not sent; try again in a moment"),
        ((Why.LOT, Why.LOT), 400, "quantity must be a whole number of lots of 5"),
        (
            (Why.CONTRACT_SIZE, Why.CONTRACT_SIZE), 503,
            "the contract size of this instrument is not agreed between brokers, so the order was not sent",
        ),
        (
            (Why.FREEZE, Why.FREEZE), 400,
            "quantity is above the freeze quantity of 100, so send it as a freeze_slicer",
        ),
        ((Why.FREEZE, Why.OTHER), 503, "no broker can take this order now"),
        ((Why.OTHER, Why.CAP), 503, "no broker can take this order now"),
        ((), 503, "no broker can take this order now"),
    ],
)  # fmt: skip
def test_when_nobody_is_left_the_answer_says_what_they_share(whys, status, error):
    skipped = tuple(Skipped(f"broker {n}", f"reason {n}", why) for n, why in enumerate(whys))
    answer = none_left(order(), skipped)
    assert (answer.status, answer.body["error"]) == (status, error)
    assert answer.body["skipped"] == [{"broker": one.broker, "reason": one.reason} for one in skipped]


@pytest.mark.parametrize(("why", "status"), [(Why.OTHER, 409), (Why.LOT, 409), (Why.CAP, 429), (Why.RATE, 503)])
def test_a_pinned_broker_that_cannot_is_a_409_except_for_cap_and_rate(why, status):
    assert none_left(order(broker="zerodha"), (Skipped("zerodha", "reason", why),)).status == status
