"""Which broker gets an order, who is passed over and why, and the refusal when nobody is left (order-engine 4.1, 4.3-4.6)."""

from datetime import date
from decimal import Decimal

import attrs
import msgspec
import pytest

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.choice.broker_checks import CHECKS, Candidate, Deliverable, Skipped, Why, first_failure
from onebroker.actors.engine.choice.choose import Choice, none_left
from onebroker.actors.engine.choice.costs import Cost
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.choice.ranking import is_holder, ranked, reduces, sold_out_today
from onebroker.actors.engine.orders.contract_size import ContractSize, SizeStatus
from onebroker.actors.engine.orders.freeze_quantity import freeze_of, most_per_order
from onebroker.actors.sessions.session_view import LoginState, SessionView
from onebroker.brokers.records import HoldingRow, Listing, OrderRow, PositionRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.transport.budget import BudgetRoom
from onebroker.config.instruments import identity_from_fields, option
from tests.support.every_case import every_case

BROKERS = build_registry()
LISTING = Listing(
    broker_token="1", tradingsymbol="A", exchange="NSE", lot_size=5, tick_size=0.05, freeze_quantity=100, contract_units=1
)  # fmt: skip


OPTION = option("nse", "equity_index_options", "NIFTY", date(2026, 11, 24), 25000, "CE")


def instrument(segment="nse_equities", listings=None):
    fields = {"segment": segment, "shape": "security", "exchange": "nse", "symbol": "A", "series": "EQ"}
    return Instrument(
        instrument_id="i", identity=identity_from_fields(fields), name="A", isin="INE1", lot_size=5, tick_size=0.05,
        freeze_quantity=100, listings={"zerodha": LISTING, "upstox": LISTING} if listings is None else listings,
    )  # fmt: skip


def order(**changes):
    fields = {
        "instrument": instrument(), "transaction_type": "BUY", "product": "CNC", "order_type": "MARKET", "quantity": 10,
        **changes,
    }  # fmt: skip
    return LegOrder(**fields)


def room(**changes):
    second = changes.pop("second", 8)
    known = {"order_messages_today": 0, "daily_cap": None, "exit_reserve": 0, "closed_seconds": 0.0, **changes}
    known["order_windows"] = {"second": second, "minute": 3}
    known["free_share"] = 0.0 if known["closed_seconds"] else second / 10
    fields = {field.name: None for field in attrs.fields(BudgetRoom)}
    return BudgetRoom(**{**fields, **known})


def candidate(code="zerodha", **changes):
    view = changes.pop("view", {})
    body = changes.pop("order", order())
    shown = SessionView(broker=code, **{"login": LoginState.LIVE, "room": room(), **view})
    return Candidate(**{"broker": BROKERS[code], "view": shown, "order": body, "freeze": 100, **changes})


WITHOUT_SIZE = {"zerodha": msgspec.structs.replace(LISTING, contract_units=None)}
CURRENCY = instrument("nse_currency_futures")
ORDERLESS = attrs.evolve(
    BROKERS["zerodha"], capabilities=attrs.evolve(BROKERS["zerodha"].capabilities, segments=frozenset())
)
NEARLY_SPENT = {"room": room(order_messages_today=90, daily_cap=100, exit_reserve=10)}

FAILING = (
    ("excluded by configuration", {"excluded": True}),
    ("orders are not sent to this broker", {"broker": ORDERLESS}),
    ("zerodha has no login in Redis", {"view": {"login": LoginState.NEEDED}}),
    ("does not carry this instrument", {"order": order(instrument=instrument(listings={"upstox": LISTING}))}),
    ("does not take CNC orders in currency_futures", {"order": order(instrument=CURRENCY)}),
    ("can deliver 9 of the 10 units", {"deliverable": Deliverable(units=9, known=True)}),
    ("quantity is not a whole number of lots of 5", {"order": order(quantity=7)}),
    ("intraday orders are closed for today", {"intraday_closed": True}),
    ("contract size unknown", {"order": order(instrument=instrument(listings=WITHOUT_SIZE))}),
    ("quantity is above the freeze quantity of 100", {"order": order(quantity=105)}),
    ("has 99.50 available and the order needs about 100.00", {"available": Decimal("99.5"), "needed": Decimal(100)}),
    ("did not answer its last 3 orders", {"unanswered": 3}),
    (
        "zerodha has been sent 90 order messages today, and the last 10 of its 100 are kept for orders that close a position",
        {"view": NEARLY_SPENT},
    ),
)
"""In the order of the checks."""


def test_a_broker_that_can_take_the_order_fails_no_check():
    assert first_failure(candidate()) is None


@every_case(("reason", "flaw"), FAILING)
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


@pytest.mark.parametrize(
    ("own", "agreed", "most"), [(None, 100, 100), (200, 100, 100), (50, 100, 50), (3, 100, 100), (100, None, 100)]
)
def test_the_freeze_quantity_is_what_most_files_say_and_never_more_than_the_brokers_own(own, agreed, most):
    assert freeze_of(with_freeze(own, None, agreed), "zerodha", {}) == most


def test_a_freeze_quantity_no_file_knows_is_not_checked():
    assert freeze_of(with_freeze(None, None, None), "zerodha", {}) is None
    assert first_failure(candidate(order=order(quantity=10**9), freeze=None)) is None


def test_the_operators_freeze_quantity_of_an_underlying_decides():
    found = attrs.evolve(with_freeze(50, None), identity=OPTION)
    assert freeze_of(found, "zerodha", {"NIFTY": 1800}) == 1800
    assert freeze_of(found, "zerodha", {"BANKNIFTY": 600}) == 50
    assert freeze_of(found, "zerodha", {"NIFTY": 4}) == 50  # less than a lot is no value


def test_what_fits_into_one_order_is_whole_lots():
    assert most_per_order(with_freeze(None, None, 103), "zerodha", {}) == 100
    assert most_per_order(with_freeze(None, None, None), "zerodha", {}) is None


def test_above_every_freeze_quantity_the_answer_names_the_largest_that_was_possible():
    skipped = tuple(first_failure(candidate(code, order=order(quantity=500), freeze=limit)) for code, limit in
                    (("upstox", 100), ("zerodha", 150)))  # fmt: skip
    assert [skip.reason for skip in skipped] == [f"quantity is above the freeze quantity of {n}" for n in (100, 150)]
    answer = none_left(Choice(order=order(quantity=500)), skipped)
    assert answer.status == 400
    assert answer.body["error"] == "quantity is above the freeze quantity of 150, so send it as a freeze_slicer"


def test_a_close_pinned_to_a_broker_is_stopped_neither_by_the_exclusion_list_nor_by_unanswered_orders():
    close = order(broker="zerodha", closes=True)
    assert first_failure(candidate(order=close, excluded=True, unanswered=3)) is None
    assert first_failure(candidate(order=order(broker="zerodha"), excluded=True)) is not None


def test_a_close_may_use_the_whole_daily_cap():
    assert first_failure(candidate(order=order(closes=True), view=NEARLY_SPENT)) is None
    spent = {"room": room(order_messages_today=100, daily_cap=100, exit_reserve=10)}
    failure = first_failure(candidate(order=order(closes=True), view=spent))
    assert failure.reason == "zerodha has been sent 100 order messages today, which is all of its 100"


def codes(*candidates):
    return [one.broker.code for one in ranked(candidates)]


def cost(rupees):
    lines = dict.fromkeys(("exchange", "regulator", "stamp", "transaction_tax", "gst", "dp"), 0)
    return Cost(brokerage=round(rupees * 100), **lines)


def test_the_cheapest_broker_comes_first_and_one_whose_cost_is_not_known_last():
    cheap, dear = candidate(cost=cost(7.5)), candidate("upstox", cost=cost(20))
    assert codes(dear, cheap) == ["zerodha", "upstox"]
    assert codes(candidate("upstox", cost=cost(1), view={"room": room(second=0)}), cheap) == ["upstox", "zerodha"]
    assert codes(candidate("angelone"), dear) == ["upstox", "angelone"]


def test_of_equal_cost_the_one_with_most_room_comes_first_then_fewest_messages_then_the_code():
    zerodha, upstox = candidate(cost=cost(5)), candidate("upstox", cost=cost(5))
    assert codes(zerodha, upstox) == ["upstox", "zerodha"]
    assert codes(attrs.evolve(upstox, view=with_room(second=3)), zerodha) == ["zerodha", "upstox"]
    assert codes(attrs.evolve(upstox, view=with_room(order_messages_today=4)), zerodha) == ["zerodha", "upstox"]
    assert codes(attrs.evolve(upstox, view=with_room(closed_seconds=0.4)), zerodha) == ["zerodha", "upstox"]


def test_costs_that_differ_by_a_rupee_at_most_are_equal_and_room_decides():
    roomy = {"room": room(second=9)}
    assert codes(candidate(cost=cost(5)), candidate("upstox", cost=cost(6), view=roomy)) == ["upstox", "zerodha"]
    assert codes(candidate(cost=cost(5)), candidate("upstox", cost=cost(6.01), view=roomy)) == ["zerodha", "upstox"]
    # Equal to the cheapest, not to each other in a row: 5.00 and 6.00 share, 6.90 comes behind both.
    dear = candidate("angelone", cost=cost(6.9), view={"room": room(second=10)})
    assert codes(candidate(cost=cost(5)), candidate("upstox", cost=cost(6), view=roomy), dear)[-1] == "angelone"


def test_a_delivery_is_bought_where_buying_and_selling_it_again_is_cheapest():
    free_but_dear_to_leave = candidate(cost=attrs.evolve(cost(0), later_dp=2360))
    assert codes(free_but_dear_to_leave, candidate("upstox", cost=attrs.evolve(cost(5), later_dp=1534))) == [
        "upstox",
        "zerodha",
    ]


def with_room(**changes):
    return SessionView(broker="upstox", login=LoginState.LIVE, room=room(**changes))


def test_holders_come_before_cheaper_brokers():
    sell = order(transaction_type="SELL")
    holder = candidate(order=sell, view={"holdings": (holding(10),)}, cost=cost(20))
    assert codes(candidate("upstox", order=sell, cost=cost(0)), holder) == ["zerodha", "upstox"]


def test_the_broker_of_earlier_pieces_comes_before_cheaper_ones():
    piece = order(prefer="upstox")
    assert codes(candidate(order=piece, cost=cost(0)), candidate("upstox", order=piece, cost=cost(20))) == [
        "upstox",
        "zerodha",
    ]


def test_the_last_pieces_of_a_sale_go_to_the_other_holder_and_open_no_short_at_the_first():
    piece = order(transaction_type="SELL", prefer="upstox")
    holder = candidate(order=piece, view={"holdings": (holding(10),)}, cost=cost(20))
    sold_out = candidate("upstox", order=piece, cost=cost(0))
    assert codes(sold_out, holder) == ["zerodha", "upstox"]


def test_a_second_sale_goes_to_the_holder_without_one_and_to_a_holder_with_one_before_all_others():
    sell = order(transaction_type="SELL")
    busy, other = candidate(order=sell, view=standing()), candidate("angelone", order=sell)
    free = candidate("upstox", order=sell, view={"holdings": (holding(10),)}, cost=cost(20))
    assert codes(other, busy, free) == ["upstox", "zerodha", "angelone"]


def test_what_could_not_be_read_last_makes_nobody_a_holder():
    sell = order(transaction_type="SELL")
    view = {"holdings": (holding(10),), "read_errors": {"holdings": "no answer"}}
    assert codes(candidate(order=sell, view=view), candidate("upstox", order=sell)) == ["upstox", "zerodha"]


@pytest.mark.parametrize(
    ("changes", "sold"),
    [({}, True), ({"filled_quantity": 0}, False), ({"product": "MIS"}, False), ({"transaction_type": "BUY"}, False),
     ({"instrument_token": "2"}, False)],
)  # fmt: skip
def test_the_depository_is_paid_once_an_instrument_and_day(changes, sold):
    fields = {
        "order_id": "1", "status": "OPEN", "transaction_type": "SELL", "product": "CNC", "order_type": "LIMIT",
        "validity": "DAY", "instrument_token": "1", "tradingsymbol": "A", "exchange": "NSE", "quantity": 9,
        "filled_quantity": 4, **changes,
    }  # fmt: skip
    assert sold_out_today(candidate(view={"orders": {"1": OrderRow(**fields)}})) is sold


def holding(quantity, **changes):
    fields = {"instrument_token": "1", "tradingsymbol": "A", "exchange": "NSE", "isin": "INE1", **changes}
    return HoldingRow(settled_quantity=quantity, **fields)


def standing(**changes):
    fields = {
        "order_id": "1", "status": "OPEN", "transaction_type": "SELL", "product": "CNC", "order_type": "LIMIT",
        "validity": "DAY", "instrument_token": "1", "tradingsymbol": "A", "exchange": "NSE", "quantity": 10, **changes,
    }  # fmt: skip
    return {"orders": {"1": OrderRow(**fields)}, "holdings": (holding(10),)}


@every_case(
    ("view", "in_flight", "is_reduced"),
    [
        ({"holdings": (holding(10),)}, 0, True),
        ({"holdings": (holding(10),)}, 1, False),
        (standing(), 0, False),
        (standing(quantity=4), 0, False),
        (standing(filled_quantity=10, status="COMPLETE"), 0, True),
        (standing(status="CANCELLED"), 0, True),
        (standing(transaction_type="BUY"), 0, True),
        (standing(product="MIS"), 0, True),
        (standing(instrument_token="2"), 0, True),
        ({**standing(), "holdings": (holding(20),)}, 0, True),
    ],
)
def test_what_other_orders_of_this_side_may_take_is_not_reduced_again(view, in_flight, is_reduced):
    assert reduces(candidate(order=order(transaction_type="SELL"), view=view, in_flight=in_flight)) is is_reduced


def position(quantity, view="net", product="CNC"):
    return PositionRow(
        position_key="k", view=view, product=product, instrument_token="1", tradingsymbol="A", exchange="NSE",
        quantity=quantity,
    )  # fmt: skip


@every_case(
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


class Looked(tuple):
    """Rows that count how often they were looked through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_a_brokers_rows_are_looked_through_once_an_order():
    sell = order(transaction_type="SELL")
    views = [{"positions": Looked([position(4)]), "holdings": Looked([holding(6)])} for _ in range(2)]
    able = [candidate(code, order=sell, view=view) for code, view in zip(("zerodha", "upstox"), views, strict=True)]
    assert all(is_holder(one) for one in able)
    ranked(attrs.evolve(one, needed=Decimal(1)) for one in able)
    assert [rows.times for view in views for rows in view.values()] == [1, 1, 1, 1]


@every_case(
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
            "quantity is above the freeze quantity of 0, so send it as a freeze_slicer",
        ),
        ((Why.PRICE,), 409, "reason 0"),
        ((Why.FREEZE, Why.OTHER), 400, "quantity is above the freeze quantity of 0, so send it as a freeze_slicer"),
        ((Why.OTHER, Why.LOT), 400, "quantity must be a whole number of lots of 5"),
        ((Why.FREEZE, Why.LOT), 400, "quantity must be a whole number of lots of 5"),
        ((Why.OTHER, Why.CAP), 429, "reason 1"),
        ((Why.LOT, Why.CAP, Why.MONEY), 429, "reason 1"),
        ((Why.OTHER, Why.RATE), 503, "the order rate budget is full, so this order was not sent; try again in a moment"),
        ((Why.CAP, Why.RATE), 503, "the order rate budget is full, so this order was not sent; try again in a moment"),
        ((Why.CAP, Why.UNANSWERED), 503, "no broker can take this order now"),
        ((Why.LOT, Why.MONEY), 503, "no broker can take this order now"),
        ((Why.OTHER, Why.OTHER), 503, "no broker can take this order now"),
        ((), 503, "no broker can take this order now"),
    ],
)  # fmt: skip
def test_when_nobody_is_left_the_answer_says_what_they_share(whys, status, error):
    skipped = tuple(Skipped(f"broker {n}", f"reason {n}", why) for n, why in enumerate(whys))
    answer = none_left(Choice(order=order()), skipped)
    assert (answer.status, answer.body["error"]) == (status, error)
    assert answer.body["skipped"] == [{"broker": one.broker, "reason": one.reason} for one in skipped]


@pytest.mark.parametrize(("why", "status"), [(Why.OTHER, 409), (Why.LOT, 409), (Why.CAP, 429), (Why.RATE, 503)])
def test_a_pinned_broker_that_cannot_is_a_409_except_for_cap_and_rate(why, status):
    assert none_left(Choice(order=order(broker="zerodha")), (Skipped("zerodha", "reason", why),)).status == status


def test_of_several_capped_brokers_the_sentence_is_that_of_the_cheapest():
    skipped = tuple(Skipped(code, f"{code} is spent", Why.CAP) for code in ("angelone", "upstox", "zerodha"))
    answer = none_left(Choice(order=order(), cost_order=("zerodha", "angelone", "upstox")), skipped)
    assert (answer.status, answer.body["error"]) == (429, "zerodha is spent")
    assert [one["broker"] for one in answer.body["skipped"]] == ["angelone", "upstox", "zerodha"]


@pytest.mark.parametrize(
    ("listing", "reason"),
    [
        ({"lot_size": 100, "contract_units": 100}, None),
        ({"lot_size": 100, "contract_units": 1}, None),
        ({"lot_size": None, "contract_units": 100}, None),
        ({"lot_size": 10, "contract_units": 10}, "contract size differs"),
        ({"lot_size": 10, "contract_units": 1}, "contract size differs"),
        ({"lot_size": None, "contract_units": 10}, "contract size differs"),
        ({"lot_size": None, "contract_units": None}, "contract size unknown"),
    ],
)
def test_a_broker_outside_the_majority_gets_no_order_of_a_contract(listing, reason):
    listed = instrument("mcx_commodity_futures", {"zerodha": msgspec.structs.replace(LISTING, **listing)})
    size = ContractSize(SizeStatus.MAJORITY, 100)
    failure = first_failure(candidate(order=order(instrument=listed, product="NRML", quantity=100), size=size))
    assert (failure.reason if failure else None) == reason
