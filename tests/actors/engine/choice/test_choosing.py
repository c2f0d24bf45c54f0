"""Choosing a broker from what sessions, quotes, charges and the day's loss say now (order-engine 4, 6.16)."""

from datetime import date, datetime, time
from decimal import Decimal

import attrs
import pytest

from onebroker.actors.catalogue.interface import NOT_MAPPED, Instrument
from onebroker.actors.engine.choice.choose import choose, none_left
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import Content, DocumentState
from onebroker.actors.portfolio.read_status import read_brokers
from onebroker.actors.sessions.session_view import LoginState, MarginFigure, MarginKey, SessionView
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import DepthLevel, FundsRow, HoldingRow, Listing, OrderRow, PositionRow, Tick
from onebroker.brokers.registry import build_registry
from onebroker.brokers.transport.budget import BudgetRoom
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import future, option, security
from onebroker.config.sections import EngineSettings, IntradayCutoff

NOW = datetime(2026, 11, 23, 11, 0, tzinfo=IST)
BROKERS = build_registry()
SHARE = security("nse", "equities", "A")
CRUDE = future("mcx", "commodity_futures", "CRUDEPALM", date(2026, 12, 18))
"""Its size is not in the exchange's table, so the brokers' files decide."""
GOLD = future("mcx", "commodity_futures", "GOLDM", date(2026, 12, 4))
CALL = option("nse", "equity_options", "A", date(2026, 12, 29), 100, "CE")
DOWN = DayLoss(limit=Decimal(5000), loss=Decimal(5200), figure_at=0.0)
DOWN_SENTENCE = "the day is down 5200.00, which is past the 5000.00 limit, so no new order is being placed"


class Prices:
    """The quotes of one instrument."""

    def __init__(self, tick=None, last=None):
        self._tick, self._last = tick, last

    def usable_tick(self, instrument_id):
        return self._tick

    def usable_price(self, instrument_id):
        return self._last

    def follow(self, instrument_ids):
        raise NotImplementedError


class Market:
    """Brokers with what their sessions show, and what the engine is given besides."""

    def __init__(self, *codes, identity=SHARE, lots=None):
        self.codes = codes
        self.identity = identity
        self.lots = lots or {}
        self.views = {
            code: SessionView(broker=code, login=LoginState.LIVE, room=room(), holdings_read_started=9.0) for code in codes
        }  # fmt: skip
        self.given = {}

    def show(self, code, **changes):
        self.views[code] = attrs.evolve(self.views[code], **changes)
        return self

    def give(self, **given):
        """`EngineContext` fields; settings as a dict."""
        self.given |= given
        return self

    def instrument(self):
        listings = {code: self.listing(code) for code in self.codes}
        return Instrument(
            instrument_id="i", identity=self.identity, name="A", isin="INE1", lot_size=None, tick_size=0.05,
            freeze_quantity=None, listings=listings,
        )  # fmt: skip

    def listing(self, code):
        units = self.lots.get(code)
        return Listing(
            broker_token=f"{code} token", tradingsymbol="A", exchange="NSE", lot_size=units, tick_size=0.05,
            contract_units=units if units else 1,
        )  # fmt: skip

    def context(self):
        clock = _Standing(NOW)
        given = {"quotes": Prices(), "catalogue": Published(NOT_MAPPED), **self.given}
        settings = EngineSettings(**given.pop("settings", {}))
        return EngineContext(
            store=MemoryStore(clock), clock=clock, settings=settings, calendar=always_open(), legs=Legs(lambda: "2026-11-23"),
            owner="me",
            sessions={
                code: SessionHandle(broker=BROKERS[code], address=None, view=Published(view))
                for code, view in self.views.items()
            },
            **given,
        )  # fmt: skip

    def choose(self, **changes):
        fields = {
            "instrument": self.instrument(), "transaction_type": "BUY", "product": "MIS", "order_type": "LIMIT",
            "quantity": 100, "price": Decimal(250), **changes,
        }  # fmt: skip
        return choose(LegOrder(**fields), self.context())

    def refused(self, **changes):
        choice = self.choose(**changes)
        assert choice.candidates == ()
        answer = none_left(choice, choice.skipped)
        return answer.status, answer.body["error"]


class _Standing(Clock):
    """A clock that stands still."""

    def __init__(self, at):
        super().__init__(wall=at.timestamp)

    def monotonic(self):
        return 10.0


def room(**changes):
    known = {
        "order_messages_today": 0,
        "daily_cap": None,
        "exit_reserve": 0,
        "closed_seconds": 0.0,
        "free_share": 1.0,
        **changes,
    }
    fields = {field.name: None for field in attrs.fields(BudgetRoom)} | {"order_windows": {}, "call_windows": {}}
    return BudgetRoom(**{**fields, **known})


def position(code, quantity, product="MIS", last_price=None):
    return PositionRow(
        position_key="k", view="net", product=product, instrument_token=f"{code} token", tradingsymbol="A",
        exchange="NSE", quantity=quantity, last_price=last_price,
    )  # fmt: skip


def codes(choice):
    return [candidate.broker.code for candidate in choice.candidates]


def reasons(choice):
    return {skip.broker: skip.reason for skip in choice.skipped}


# --- the worked example ------------------------------------------------------------------------------------------------

CAPPED = room(order_messages_today=900, daily_cap=1000, exit_reserve=100)
SPENT = "angelone has been sent 900 order messages today, and the last 100 of its 1000 are kept for orders that close a position"


def worked_example():
    """zerodha 0.03 % at most 20, fivepaisa flat 20, dhan without login, angelone with 900 of 1000 messages sent (6.16)."""
    market = Market("fivepaisa", "zerodha", "dhan", "angelone")
    return market.show("dhan", login=LoginState.NEEDED).show("angelone", room=CAPPED)


def test_the_cheapest_is_first_and_only_those_a_check_refuses_are_skipped():
    choice = worked_example().choose()
    assert [(one.broker.code, one.cost.total) for one in choice.candidates] == [("zerodha", 1054), ("fivepaisa", 2529)]
    assert [(skip.broker, skip.reason) for skip in choice.skipped] == [
        ("angelone", SPENT),
        ("dhan", "dhan has no login in Redis"),
    ]


def test_pinned_to_the_broker_whose_cap_is_reached_it_is_a_429_and_a_close_goes():
    assert worked_example().refused(broker="angelone") == (429, SPENT)
    assert codes(worked_example().choose(broker="angelone", closes=True)) == ["angelone"]


def test_of_several_capped_brokers_the_cheapest_speaks():
    market = Market("fivepaisa", "zerodha").show("fivepaisa", room=CAPPED).show("zerodha", room=CAPPED)
    status, sentence = market.refused()
    assert (status, sentence.split()[0]) == (429, "zerodha")


@pytest.mark.parametrize(
    ("side", "quotes", "value"),
    [
        ("BUY", Prices(Tick(broker_token="1", last_price=250, sell=(DepthLevel(255, 1),))), 25_500),
        ("SELL", Prices(Tick(broker_token="1", last_price=250, sell=(DepthLevel(255, 1),), buy=())), 25_000),
        ("SELL", Prices(Tick(broker_token="1", last_price=250, buy=(DepthLevel(245, 1), DepthLevel(1, 1)))), 24_500),
        ("BUY", Prices(last=240.0), 24_000),
    ],
)
def test_a_market_order_is_costed_at_the_touch_it_would_meet_or_the_last_price(side, quotes, value):
    choice = Market("zerodha").give(quotes=quotes).choose(order_type="MARKET", price=None, transaction_type=side)
    assert choice.candidates[0].cost.brokerage == round(value * 100 * 0.0003)


def test_without_any_price_the_brokers_are_ranked_by_room():
    market = Market("upstox", "zerodha").show("zerodha", room=room(free_share=0.5))
    market.show("upstox", room=room(free_share=0.1))
    choice = market.choose(order_type="MARKET", price=None)
    assert [(one.broker.code, one.cost) for one in choice.candidates] == [("zerodha", None), ("upstox", None)]


# --- the day's loss ----------------------------------------------------------------------------------------------------


def locked(*codes, **given):
    return Market(*codes, **given).give(loss=Published(DOWN))


def test_a_locked_day_refuses_an_entry_and_a_callers_flag_changes_nothing():
    assert locked("zerodha", "upstox").refused() == (403, DOWN_SENTENCE)
    assert locked("zerodha", "upstox").refused(closes=True, broker="zerodha") == (403, DOWN_SENTENCE)


def test_what_the_engine_itself_closes_goes():
    assert codes(locked("zerodha").choose(exit=True, closes=True, broker="zerodha")) == ["zerodha"]


def test_an_order_that_reduces_a_position_goes_to_the_broker_that_holds_it_and_nowhere_else():
    market = locked("fivepaisa", "zerodha", "upstox").show("upstox", positions=(position("upstox", 100),))
    choice = market.choose(transaction_type="SELL")
    assert codes(choice) == ["upstox"]
    assert reasons(choice) == {"fivepaisa": DOWN_SENTENCE, "zerodha": DOWN_SENTENCE}


@pytest.mark.parametrize(
    ("held", "changes"),
    [
        (99, {"transaction_type": "SELL"}),
        (100, {"transaction_type": "BUY"}),
        (100, {"transaction_type": "SELL", "product": "CNC"}),
        (-100, {"transaction_type": "SELL"}),
        (0, {"transaction_type": "SELL"}),
    ],
)
def test_more_than_is_held_or_another_side_or_product_is_a_new_order(held, changes):
    market = locked("zerodha").show("zerodha", positions=(position("zerodha", held),))
    assert market.refused(**changes) == (403, DOWN_SENTENCE)


def test_positions_that_could_not_be_read_verify_nothing():
    market = locked("zerodha").show("zerodha", positions=(position("zerodha", 100),), read_errors={"positions": "down"})
    assert market.refused(transaction_type="SELL") == (403, DOWN_SENTENCE)


def test_shares_held_may_be_sold():
    market = locked("zerodha").show("zerodha", holdings=(HELD,))
    assert codes(market.choose(transaction_type="SELL", product="CNC")) == ["zerodha"]


async def test_shares_that_one_read_of_the_holdings_lacks_may_be_sold_while_entries_are_refused():
    market = locked("zerodha").show("zerodha", holdings=(HELD,))
    sale = {"transaction_type": "SELL", "product": "CNC"}
    context = market.context()
    order = LegOrder(instrument=market.instrument(), order_type="LIMIT", quantity=100, price=Decimal(250), **sale)
    assert codes(choose(order, context)) == ["zerodha"]
    handle = context.sessions["zerodha"]
    handle.view.set(attrs.evolve(handle.view.value, holdings=(), holdings_read_started=9.5))
    assert codes(choose(order, context)) == ["zerodha"]


def test_without_a_figure_new_orders_wait():
    market = Market("zerodha").give(loss=Published(DayLoss(limit=Decimal(5000))))
    assert market.refused() == (503, "the day's profit and loss is not available, so no new order is being placed")


# --- contract size -----------------------------------------------------------------------------------------------------


def crude(**lots):
    return Market(*lots, identity=CRUDE, lots=lots)


@pytest.mark.parametrize(
    ("lots", "status"),
    [({"zerodha": 100}, "single"), ({"zerodha": 100, "upstox": 10}, "disputed"), ({"zerodha": None}, "unknown")],
)
def test_a_contract_whose_size_is_not_agreed_gets_no_order(lots, status):
    choice = crude(**lots).choose(product="NRML")
    answer = none_left(choice, choice.skipped)
    assert answer.status == 503
    assert answer.body["error"] == (
        "the contract size of this instrument is not agreed between brokers, so the order was not sent"
    )
    assert (answer.body["contract_size_status"], answer.body["instrument_id"]) == (status, "i")


def test_a_majority_of_files_does_not_outvote_the_exchanges_own_size():
    lots = {"zerodha": 10, "kotakneo": 100, "upstox": 100}
    choice = Market(*lots, identity=GOLD, lots=lots).choose(product="NRML", quantity=10)
    assert codes(choice) == ["zerodha"]
    assert reasons(choice) == {"kotakneo": "contract size differs", "upstox": "contract size differs"}


def test_no_order_goes_to_angelone_on_mcx():
    lots = {"zerodha": 10, "angelone": 10}
    choice = Market(*lots, identity=GOLD, lots=lots).choose(product="NRML", quantity=10)
    assert codes(choice) == ["zerodha"]


def test_brokers_outside_the_majority_are_skipped():
    choice = crude(zerodha=100, upstox=100, kotakneo=10).choose(product="NRML")
    assert set(codes(choice)) == {"zerodha", "upstox"}
    assert reasons(choice) == {"kotakneo": "contract size differs"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"quantity": 150}, "quantity must be a whole number of lots of 100"),
        ({"quantity": 200, "disclosed_quantity": 50}, "disclosed_quantity must be a whole number of lots of 100"),
    ],
)
def test_quantities_are_whole_lots_of_the_trusted_size(changes, sentence):
    assert crude(zerodha=100, upstox=100, kotakneo=10).refused(product="NRML", **changes) == (400, sentence)


# --- cut-off, money, freeze --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cutoff", "changes", "open_"),
    [
        (time(11, 0), {}, False),
        (time(10, 59), {}, False),
        (time(11, 1), {}, True),
        (None, {}, True),
        (time(10, 0), {"product": "CNC"}, True),
        (time(10, 0), {"closes": True}, True),
        (time(10, 0), {"after_market": True}, True),
    ],
)
def test_an_intraday_entry_skips_a_broker_that_closes_them_already(cutoff, changes, open_):
    market = Market("zerodha", "upstox").give(intraday_cutoffs={"zerodha": IntradayCutoff(equity=cutoff)})
    choice = market.choose(**changes)
    assert ("zerodha" in codes(choice)) is open_
    assert open_ or reasons(choice) == {"zerodha": "intraday orders are closed for today"}


def funds(**available):
    slices = {
        code: Slice(
            broker=code, resource="funds", received_at=NOW.timestamp(),
            rows=row if isinstance(row, FundsRow) else FundsRow(available_balance=row),
        )
        for code, row in available.items()
    }  # fmt: skip
    return Published(
        DocumentState(
            resource="funds", body=b"", as_of="", as_of_epoch=NOW.timestamp(), published_monotonic=9.0, brokers=b"",
            reads=read_brokers("funds", tuple(slices), slices, NOW.timestamp()), usable_brokers=True,
            content=Content(pieces=(), rows=(), summary=b""), build_seconds=0.0, gap_seconds=None,
        )
    )  # fmt: skip


HELD = HoldingRow(
    instrument_token="zerodha token", tradingsymbol="A", exchange="NSE", isin="INE1", settled_quantity=100
)


def with_money(rupees, *, check=True, identity=SHARE):
    market = Market("zerodha", identity=identity).give(funds=funds(zerodha=rupees)).show("zerodha", holdings=(HELD,))
    return market.give(settings={"check_funds": check})


@pytest.mark.parametrize(
    ("rupees", "changes", "reason"),
    [
        (25_000.0, {"product": "CNC"}, "has 25000.00 available and the order needs about 25029.69"),
        (25_030.0, {"product": "CNC"}, None),
        (5_000.0, {}, "has 5000.00 available and the order needs about 5010.54"),
        (0.0, {"product": "CNC", "transaction_type": "SELL"}, None),
        (0.0, {"closes": True, "broker": "zerodha"}, None),
    ],
)
def test_a_broker_without_the_money_is_skipped_when_that_is_looked_at(rupees, changes, reason):
    assert reasons(with_money(rupees).choose(**changes)).get("zerodha") == reason
    assert reasons(with_money(rupees, check=False).choose(**changes)) == {}


def test_money_holds_up_no_exit_and_no_cover_beside_a_stop_that_rests():
    short = PositionRow(
        position_key="k", view="net", product="MIS", instrument_token="zerodha token", tradingsymbol="A", exchange="NSE", quantity=-100,
    )  # fmt: skip
    stop = OrderRow(
        order_id="1", status="OPEN", transaction_type="BUY", product="MIS", order_type="SL", validity="DAY",
        instrument_token="zerodha token", tradingsymbol="A", exchange="NSE", quantity=100,
    )  # fmt: skip
    assert not with_money(0.0).choose().candidates
    assert with_money(0.0).choose(exit=True).candidates
    assert with_money(0.0).show("zerodha", positions=(short,), orders={"1": stop}).choose().candidates


def test_an_option_bought_is_paid_in_full_and_what_a_sold_one_needs_only_its_broker_knows():
    assert codes(with_money(100.0, identity=CALL).choose(product="NRML")) == []
    assert codes(with_money(100.0, identity=CALL).choose(product="NRML", transaction_type="SELL")) == ["zerodha"]


FUTURE = future("nse", "equity_futures", "A", date(2026, 12, 29))
OTHER_FUTURE = future("nse", "equity_futures", "A", date(2027, 1, 26))


def told(per_unit, side="BUY", *, age=0.0):
    """What zerodha said of the contract `age` seconds ago."""
    key = MarginKey("zerodha token", side, "NRML")
    figure = MarginFigure(per_unit=None if per_unit is None else Decimal(per_unit), asked_at=10.0 - age)
    return {"margins": {key: figure}, "positions_read_started": 9.0}


class Named:
    """A catalogue in which every broker token names one instrument."""

    def __init__(self, identity):
        self._identity = identity

    def by_token(self, broker, broker_token):
        return None if self._identity is None else "held"

    def instrument(self, instrument_id):
        return Instrument(
            instrument_id="held", identity=self._identity, name="A", isin=None, lot_size=None, tick_size=None, freeze_quantity=None,
            listings={},
        )  # fmt: skip


def margined(rupees, shown, *, held=SHARE, identity=FUTURE):
    market = with_money(rupees, identity=identity).show("zerodha", **shown)
    state = attrs.evolve(NOT_MAPPED, latest=Named(held))
    return market.give(catalogue=Published(state))


TOO_DEAR = {"zerodha": "has 100.00 available and the order needs about 5000.00"}


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (told("50"), TOO_DEAR),
        (told("50", age=119.0), TOO_DEAR),
        (told("50", age=121.0), {}),
        (told("50", "SELL"), {}),
        (told(None), {}),
        (told("1"), {}),
        ({}, {}),
    ],
)
def test_a_future_is_held_against_what_its_broker_said_of_that_side_lately(shown, reason):
    assert reasons(margined(100.0, shown).choose(product="NRML")) == reason


def test_an_option_sold_is_as_a_future_and_one_bought_is_paid():
    shown = told("50", "SELL")
    sold = margined(100.0, shown, identity=CALL).choose(product="NRML", transaction_type="SELL")
    assert reasons(sold) == TOO_DEAR
    bought = margined(24_000.0, told("50"), identity=CALL).choose(product="NRML")
    assert "needs about 250" in reasons(bought)["zerodha"]


def held_row(quantity, token="other token"):
    return PositionRow(
        position_key="k",
        view="net",
        product="NRML",
        instrument_token=token,
        tradingsymbol="A",
        exchange="NFO",
        quantity=quantity,
    )


@pytest.mark.parametrize(
    ("row", "held", "skipped"),
    [
        (held_row(-100), OTHER_FUTURE, False),  # a spread needs less than either side
        (held_row(100), SHARE, False),
        (held_row(100), None, False),  # nobody can say what it is
        (held_row(None), OTHER_FUTURE, False),
        (held_row(0), OTHER_FUTURE, True),
        (held_row(100), GOLD, True),
    ],
)
def test_a_figure_of_the_order_by_itself_holds_up_none_beside_a_position_in_its_underlying(row, held, skipped):
    choice = margined(100.0, told("50") | {"positions": (row,)}, held=held).choose(product="NRML")
    assert reasons(choice) == (TOO_DEAR if skipped else {})


def test_positions_that_could_not_be_read_may_lower_the_margin():
    unread = margined(100.0, told("50") | {"read_errors": {"positions": "HTTP 500"}})
    never = margined(100.0, told("50") | {"positions_read_started": None})
    assert reasons(unread.choose(product="NRML")) == reasons(never.choose(product="NRML")) == {}


def test_money_in_another_pool_is_not_counted():
    pools = FundsRow(available_balance=90_000.0, pools={"equity": 100.0, "commodity": 89_900.0})
    assert reasons(with_money(pools).choose()) == {"zerodha": "has 100.00 available and the order needs about 5010.54"}


def test_the_operators_freeze_quantity_counts():
    market = Market("zerodha", identity=CALL).give(settings={"freeze_quantities": {"A": 99}})
    assert reasons(market.choose(product="NRML")) == {"zerodha": "quantity is above the freeze quantity of 99"}


# --- order types a broker refuses ----------------------------------------------------------------------------------------

SELL_OUT = {"transaction_type": "SELL", "order_type": "MARKET", "price": None, "product": "MIS"}


def test_an_order_that_may_go_elsewhere_skips_a_broker_that_takes_no_market_orders():
    choice = Market("shoonya", "zerodha").choose(**SELL_OUT)
    assert codes(choice) == ["zerodha"]
    assert reasons(choice) == {"shoonya": "does not take MARKET orders in equities"}


def test_a_pinned_close_goes_there_as_a_limit_past_the_touch():
    quotes = Prices(Tick(broker_token="1", last_price=250, buy=(DepthLevel(249.5, 1),)))
    choice = Market("shoonya").give(quotes=quotes).choose(**SELL_OUT, broker="shoonya", closes=True)
    (candidate,) = choice.candidates
    # 1 % of 249.50 below it, snapped down to the tick.
    assert (candidate.order.order_type, candidate.order.price) == ("LIMIT", Decimal("247.00"))
    assert (choice.order.order_type, choice.order.price) == ("MARKET", None)


def test_where_it_takes_market_orders_it_stays_one():
    quotes = Prices(Tick(broker_token="1", last_price=250))
    choice = Market("zerodha").give(quotes=quotes).choose(**SELL_OUT, broker="zerodha", closes=True)
    assert choice.candidates[0].order.order_type == "MARKET"


def test_without_a_quote_the_last_price_of_the_position_row_counts():
    market = Market("shoonya").show("shoonya", positions=(position("shoonya", 100, last_price=99.0),))
    choice = market.choose(**SELL_OUT, broker="shoonya", closes=True)
    assert choice.candidates[0].order.price == Decimal("97.00")


def test_without_any_price_the_close_is_refused():
    sentence = "no price is known for this instrument, so the position was not closed"
    assert Market("shoonya").refused(**SELL_OUT, broker="shoonya", closes=True) == (409, sentence)


def test_a_pinned_order_that_closes_nothing_is_refused_for_its_type():
    quotes = Prices(Tick(broker_token="1", last_price=250))
    status, sentence = Market("shoonya").give(quotes=quotes).refused(**SELL_OUT, broker="shoonya")
    assert (status, sentence) == (409, "shoonya cannot take this order: does not take MARKET orders in equities")


@pytest.mark.parametrize(("identity", "order_type"), [(SHARE, "SL-M"), (CALL, "SL")])
def test_dhan_takes_stop_market_orders_for_shares_alone(identity, order_type):
    stop = {
        "transaction_type": "SELL",
        "order_type": "SL-M",
        "price": None,
        "trigger_price": Decimal(200),
        "product": "MIS",
    }
    (candidate,) = Market("dhan", identity=identity).choose(**stop, broker="dhan", closes=True).candidates
    assert candidate.order.order_type == order_type
