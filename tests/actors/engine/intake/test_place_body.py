"""The place body, one test per sentence of rules 2.8 in the order of its checks; nothing but Refusal ever comes out of it."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.intake.intake_context import Today
from onebroker.actors.engine.intake.place_body import MOST_DEPTH, check_body, recorded, with_instrument
from onebroker.actors.engine.intake.synthetic import TYPES
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST
from onebroker.config.instruments import ORDERABLE_SEGMENTS, SEGMENT_SHAPES, Identity, Shape, option, security
from onebroker.config.refusal import Refusal
from onebroker.config.sections import EngineSettings
from onebroker.http.orders.dry_run_flag import read_dry_run
from tests.support.every_case import every_case

BROKERS = ("upstox", "zerodha")
SHARE = security("nse", "equities", "INFY")
GOOD = {
    "instrument_id": SHARE.instrument_id,
    "transaction_type": "BUY",
    "product": "CNC",
    "order_type": "LIMIT",
    "quantity": 10,
    "price": 100.05,
}
QUANTITY_WHOLE = "quantity must be a whole number of at least 1"
TICKS = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 0.0025]
"""Of the simulator's instruments, and of NSE since its slabs of 2025."""
NOT_NUMBERS = [True, False, "5", "", [], {}, [5]]


def instrument(identity: Identity = SHARE, tick_size: float | None = 0.05) -> Instrument:
    return Instrument(
        instrument_id=identity.instrument_id,
        identity=identity,
        name=None,
        isin=None,
        lot_size=None,
        tick_size=tick_size,
        freeze_quantity=None,
        listings={},
    )


class Nothing:
    """A catalogue without instruments: parts of plans name none here."""

    mapping_date = date(2026, 11, 23)

    def instrument(self, instrument_id):
        return None


TODAY = Today(
    now=datetime(2026, 11, 23, 10, 0, tzinfo=IST), snapshot=Nothing(), brokers=BROKERS, calendar=always_open(),
    settings=EngineSettings(),
)  # fmt: skip


def checked(body, args=None):
    return check_body(body, brokers=BROKERS, dry_run=lambda given: read_dry_run(given, args or {}))


def placed(body, found=None):
    return with_instrument(checked(body), body, found or instrument(), TODAY)


def attempt(body, found=None):
    """Return the order, or the Refusal; anything else comes out."""
    try:
        return placed(body, found)
    except Refusal as refused:
        return refused


def refusal(body, found=None) -> str:
    """Return the sentence a body is refused with."""
    with pytest.raises(Refusal) as refused:
        placed(body, found)
    assert refused.value.status == 400
    assert refused.value.extra == {}
    return refused.value.sentence


def changed(**fields):
    return {**GOOD, **fields}


def without(*names):
    return {name: value for name, value in GOOD.items() if name not in names}


def not_run(kind):
    return f"the order engine does not run '{kind}' orders; it runs {', '.join(sorted(TYPES))}"


def named(**fields):
    return {**without("instrument_id"), **fields}


# --- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "choices"),
    [
        ("transaction_type", "BUY, SELL"),
        ("product", "CNC, MIS, NRML"),
        ("order_type", "MARKET, LIMIT, SL, SL-M"),
        ("validity", "DAY, IOC"),
    ],
)
def test_a_word_must_be_one_of_its_choices_in_any_case(field, choices):
    for wrong in ("", "x", "GTT", "BO", 5, True, [], {}, ["BUY"], "ſell", "BUY SELL"):
        assert refusal(changed(**{field: wrong})) == f"{field} must be one of {choices}"
    if field != "validity":
        assert refusal(changed(**{field: None})) == f"{field} must be one of {choices}"
        assert refusal(without(field)) == f"{field} must be one of {choices}"


def test_words_are_matched_in_any_case():
    order = placed(changed(transaction_type="sell", product="Nrml", order_type="sl", validity="ioc", trigger_price=99))
    assert (order.transaction_type, order.product, order.order_type, order.validity) == ("SELL", "NRML", "SL", "IOC")


@pytest.mark.parametrize("body", [GOOD, changed(validity=None)])
def test_validity_is_day_when_it_is_left_out(body):
    assert placed(body).validity == "DAY"


# --- quantities --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [without("quantity"), changed(quantity=None)])
def test_a_quantity_is_required(body):
    assert refusal(body) == "quantity is required"


@every_case("wrong", [0, -1, 1.5, 10.0, *NOT_NUMBERS])
def test_a_quantity_is_a_whole_number_of_at_least_1(wrong):
    assert refusal(changed(quantity=wrong)) == "quantity must be a whole number of at least 1"


@every_case("wrong", [-1, 1.5, 0.0, *NOT_NUMBERS])
def test_a_disclosed_quantity_is_a_whole_number_of_at_least_0(wrong):
    assert refusal(changed(disclosed_quantity=wrong)) == "disclosed_quantity must be a whole number of at least 0"


@pytest.mark.parametrize("large", [2**53, 2**63, 10**400])
def test_a_number_that_not_every_reader_keeps_exact_is_no_quantity(large):
    assert refusal(changed(quantity=large)) == "quantity must be between 1 and 9007199254740991"
    expected = "disclosed_quantity must be between 0 and 9007199254740991"
    assert refusal(changed(disclosed_quantity=large)) == expected


def test_the_largest_quantity_is_taken():
    most = changed(quantity=2**53 - 1, disclosed_quantity=2**53 - 1)
    assert (placed(most).quantity, placed(most).disclosed_quantity) == (2**53 - 1, 2**53 - 1)


def test_a_disclosed_quantity_is_not_above_the_quantity():
    assert refusal(changed(disclosed_quantity=11)) == "disclosed_quantity cannot be more than quantity"
    assert [placed(changed(disclosed_quantity=n)).disclosed_quantity for n in (0, 10, None)] == [0, 10, 0]


# --- prices ------------------------------------------------------------------------------------------------------------


@every_case("field", ["price", "trigger_price"])
@every_case("wrong", [-0.05, -1, float("nan"), float("inf"), -float("inf"), 10**400, *NOT_NUMBERS])
def test_a_price_is_a_number_of_at_least_0(field, wrong):
    assert (
        refusal(changed(order_type="SL", trigger_price=1) | {field: wrong}) == f"{field} must be a number of at least 0"
    )


@pytest.mark.parametrize("order_type", ["LIMIT", "SL"])
def test_a_limit_and_an_sl_need_a_price(order_type):
    for absent in ({}, {"price": None}):
        body = {**without("price"), "order_type": order_type, "trigger_price": 1, **absent}
        assert refusal(body) == f"a {order_type} order needs a price"


@pytest.mark.parametrize("order_type", ["MARKET", "SL-M"])
@pytest.mark.parametrize("price", [0, 100.05])
def test_a_market_and_an_sl_m_take_no_price(order_type, price):
    assert refusal(changed(order_type=order_type, price=price)) == f"a {order_type} order takes no price"


@pytest.mark.parametrize("order_type", ["SL", "SL-M"])
def test_an_sl_and_an_sl_m_need_a_trigger_price(order_type):
    body = {**without("price"), "order_type": order_type} | ({"price": 1} if order_type == "SL" else {})
    assert refusal(body) == f"a {order_type} order needs a trigger_price"


@pytest.mark.parametrize("order_type", ["MARKET", "LIMIT"])
def test_a_market_and_a_limit_take_no_trigger_price(order_type):
    body = {**without("price"), "order_type": order_type, "trigger_price": 5}
    body |= {"price": 1} if order_type == "LIMIT" else {}
    assert refusal(body) == f"a {order_type} order takes no trigger_price"


def test_a_price_is_kept_as_it_was_written():
    assert placed(changed(price=0.15)).price == Decimal("0.15")
    assert placed(changed(price=7)).price == Decimal(7)
    assert str(placed(changed(price=-0.0)).price) == "0.0"
    assert placed({**without("price"), "order_type": "MARKET", "price": None}).price is None


# --- flags, tag, broker ------------------------------------------------------------------------------------------------


@every_case("field", ["after_market", "dry_run"])
@every_case("wrong", ["true", "false", 1, 0, "", [], {}])
def test_a_flag_is_true_or_false(field, wrong):
    assert refusal(changed(**{field: wrong})) == f"{field} must be true or false"


def test_flags_are_read_and_false_when_left_out():
    for given_flag, read in ((True, True), (False, False)):
        assert placed(changed(after_market=given_flag)).after_market is read
        assert checked(changed(dry_run=given_flag)).dry_run is read
    assert placed(changed(after_market=None)).after_market is False
    assert checked(changed()).dry_run is False


@every_case("wrong", ["", "x" * 21, "a b", "a-b", "é", "a\n", "٣", 5, True, []])
def test_a_tag_is_1_to_20_letters_and_digits(wrong):
    assert refusal(changed(tag=wrong)) == "tag must be 1 to 20 letters and digits"


@pytest.mark.parametrize("tag", ["a", "Z9" * 10, None])
def test_a_tag_is_kept_as_it_is(tag):
    assert placed(changed(tag=tag)).tag == tag


@pytest.mark.parametrize("wrong", ["nobody", "", 5, True, ["upstox"]])
def test_a_pinned_broker_must_be_one_of_those_in_service(wrong):
    assert refusal(changed(broker=wrong)) == "broker must be one of upstox, zerodha"


@pytest.mark.parametrize(("pinned", "code"), [("UPSTOX", "upstox"), (" Zerodha ", "zerodha"), (None, None)])
def test_a_broker_is_pinned_in_any_case(pinned, code):
    assert placed(changed(broker=pinned)).broker == code


# --- naming ------------------------------------------------------------------------------------------------------------


@every_case("wrong", ["", "7", "0" * 32, f"{{{SHARE.instrument_id}}}", f"urn:uuid:{SHARE.instrument_id}", 5, True, []])
def test_an_instrument_id_is_a_uuid_even_when_fields_are_given_too(wrong):
    body = changed(instrument_id=wrong, exchange="nse", segment="equities", symbol="INFY")
    assert refusal(body) == "instrument_id must be a UUID"


@every_case(
    "fields",
    [
        {},
        {"instrument_id": None},
        {"exchange": "nse"},
        {"segment": "equities", "symbol": "INFY"},
        {"exchange": "nyse", "segment": "equities", "symbol": "INFY"},
        {"exchange": "unknown", "segment": "uncategorised", "symbol": "INFY"},
        {"exchange": 5, "segment": "equities", "symbol": "INFY"},
        {"exchange": "nse", "segment": 5, "symbol": "INFY"},
        {"exchange": "nse", "segment": " ", "symbol": "INFY"},
    ],
)
def test_an_instrument_must_be_named(fields):
    sentence = "give instrument_id, or an exchange of nse, bse, mcx or ncdex with a segment and its identity fields"
    assert refusal(named(**fields)) == sentence


@pytest.mark.parametrize("segment", ["equity_indices", "nse_equity_indices", "uncategorised", "shares", "bse_equities"])
def test_a_segment_orders_are_not_sent_for_is_refused(segment):
    body = named(exchange="NSE", segment=segment, symbol="X")
    assert refusal(body) == f"orders are not sent for the segment '{segment}'"


@pytest.mark.parametrize("symbol", [None, "", "  ", 5, ["INFY"]])
def test_a_security_segment_needs_its_symbol(symbol):
    assert refusal(named(exchange="nse", segment="equities", symbol=symbol)) == "a security segment needs symbol"


@every_case(("segment", "shape"), [("equity_futures", "future"), ("equity_options", "option")])
@every_case(
    "fields",
    [{}, {"underlying_symbol": "X"}, {"expiry_date": "2026-11-26"}, {"underlying_symbol": 5, "expiry_date": 5}],
)
def test_a_derivative_segment_needs_underlying_and_expiry(segment, shape, fields):
    body = named(exchange="nse", segment=segment, **fields)
    assert refusal(body) == f"a {shape} segment needs underlying_symbol and expiry_date"


@pytest.mark.parametrize("wrong", ["2026-13-01", "26-11-2026", "20261126", "2026-11-26T00:00:00", "٢٠٢٦-11-26", "soon"])
def test_an_expiry_date_is_a_date(wrong):
    body = named(exchange="nse", segment="equity_futures", underlying_symbol="X", expiry_date=wrong)
    assert refusal(body) == "expiry_date must be a date in YYYY-MM-DD format"


OPTION = {"exchange": "nse", "segment": "equity_options", "underlying_symbol": "X", "expiry_date": "2026-11-26"}


@every_case("wrong", [None, float("nan"), float("inf"), 10**400, *NOT_NUMBERS])
def test_an_option_segment_needs_a_numeric_strike_price(wrong):
    body = named(**OPTION, strike_price=wrong, option_type="XX")
    assert refusal(body) == "an option segment needs a numeric strike_price"


@pytest.mark.parametrize("wrong", [None, "", "C", "CALL", 5, True])
def test_an_option_type_is_ce_or_pe(wrong):
    assert refusal(named(**OPTION, strike_price=100, option_type=wrong)) == "option_type must be CE or PE"


@pytest.mark.parametrize("strike", [100, 100.0])
def test_an_option_is_named_by_its_fields(strike):
    name = checked(named(**OPTION, strike_price=strike, option_type="pe")).name
    identity = option("nse", "equity_options", "X", date(2026, 11, 26), 100.0, "PE")
    assert name.instrument_id == identity.instrument_id
    assert name.text == "nse nse_equity_options X 2026-11-26 100 PE"


@every_case("segment", sorted(ORDERABLE_SEGMENTS))
@every_case("prefix", ["", "nse_", "NSE_"])
def test_every_orderable_segment_can_be_named_bare_or_prefixed_in_any_case(segment, prefix):
    fields = {
        "underlying_symbol": "x",
        "expiry_date": "2026-11-26",
        "strike_price": 1,
        "option_type": "ce",
        "symbol": "x",
    }
    name = checked(named(exchange="Nse", segment=prefix + segment, **fields)).name
    assert name.text.startswith(f"nse nse_{segment} X")


# --- with the instrument -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("segment", sorted(set(SEGMENT_SHAPES) - ORDERABLE_SEGMENTS))
def test_an_instrument_of_a_segment_that_is_not_traded_is_refused(segment):
    stored = segment if segment == "uncategorised" else f"nse_{segment}"
    found = instrument(Identity("nse", stored, Shape.SECURITY, symbol="X"))
    assert refusal(changed(price=0.01), found) == f"orders are not sent for {segment} instruments"


def test_prices_are_whole_ticks_of_the_agreed_tick():
    assert refusal(changed(price=100.07)) == "price must be a whole number of ticks of 0.05"
    assert (
        refusal(changed(order_type="SL", trigger_price=1.01)) == "trigger_price must be a whole number of ticks of 0.05"
    )
    assert refusal(changed(price=1.5), instrument(tick_size=1.0)) == "price must be a whole number of ticks of 1"
    assert (
        refusal(changed(price=1.00005), instrument(tick_size=0.0025))
        == "price must be a whole number of ticks of 0.0025"
    )
    assert placed(changed(price=100.07), instrument(tick_size=None)).price == Decimal("100.07")


@given(price=st.floats(0, allow_infinity=False), tick=st.sampled_from(TICKS))
def test_whole_ticks_are_judged_for_every_price(price, tick):
    """Within 1e-9 of a tick it is that tick, and farther than the last digits of a double it is none."""
    written, size = Fraction(repr(price)), Fraction(repr(tick))
    nearest = round(written / size) * size
    tried = attempt(changed(price=price), instrument(tick_size=tick))
    if isinstance(tried, Refusal):
        assert "whole number of ticks" in tried.sentence
        assert written != nearest
        assert nearest == 0 or abs(written - nearest) > Fraction(1, 10**9) or written > 10**15
    else:
        assert Fraction(tried.price) == written or abs(written - nearest) <= max(Fraction(1, 10**9), written / 10**15)
        assert Fraction(tried.price) % size == 0


@given(count=st.integers(1, 4_000_000), tick=st.sampled_from(TICKS), order_type=st.sampled_from(["LIMIT", "SL"]))
def test_a_price_computed_in_floating_point_is_the_tick_that_it_means(count, tick, order_type):
    exact = count * Decimal(repr(tick))
    body = changed(order_type=order_type, price=count * tick, trigger_price=count * tick)
    if order_type == "LIMIT":
        del body["trigger_price"]
    order = placed(body, instrument(tick_size=tick))
    assert order.price == exact
    assert order.sent["price"] == float(exact)  # what is recorded is what is sent
    assert order.trigger_price == (exact if order_type == "SL" else None)


@given(count=st.integers(0, 2_000_000), tick=st.sampled_from(TICKS))
def test_half_a_tick_is_no_tick(count, tick):
    half = float((count + Decimal("0.5")) * Decimal(repr(tick)))
    words = f"price must be a whole number of ticks of {Decimal(repr(tick)).normalize():f}"
    assert refusal(changed(price=half), instrument(tick_size=tick)) == words


def test_the_record_holds_the_numbers_that_the_body_means():
    noise = 3 * 0.05
    sent = {
        "price": 2002 * 0.05,
        "quantity": 10,
        "synthetic": {"rules": [{"gain": noise, "x": "0.1", "n": None}], "f": True},
    }
    assert recorded(sent) == {
        "price": 100.1, "quantity": 10, "synthetic": {"rules": [{"gain": 0.15, "x": "0.1", "n": None}], "f": True},
    }  # fmt: skip
    assert sent["price"] == 2002 * 0.05


def test_a_strike_computed_in_floating_point_names_the_contract():
    option_of = {
        "exchange": "nse", "segment": "currency_options", "underlying_symbol": "USDINR", "expiry_date": "2026-12-29",
        "option_type": "CE",
    }  # fmt: skip
    names = [checked(named(**option_of, strike_price=strike)).name for strike in (3 * 28.1, 84.3)]
    assert 3 * 28.1 != 84.3
    assert names[0] == names[1]


# --- references --------------------------------------------------------------------------------------------------------

MID = {"kind": " Mid "}


@pytest.mark.parametrize(("order_type", "trigger"), [("LIMIT", {}), ("SL", {"trigger_price": 99})])
def test_a_price_reference_stands_in_the_place_of_the_price(order_type, trigger):
    order = placed({**without("price"), "order_type": order_type, "price_reference": MID, **trigger})
    assert (order.price, order.references.price.kind, order.references.quantity) == (None, "mid", None)
    assert placed(changed(price=0.01, price_reference=MID)).price is None  # it is the reference that counts


@pytest.mark.parametrize(("order_type", "trigger"), [("MARKET", {}), ("SL-M", {"trigger_price": 99})])
def test_an_order_without_a_price_takes_no_price_reference_either(order_type, trigger):
    body = {**without("price"), "order_type": order_type, "price_reference": MID, **trigger}
    assert refusal(body) == f"a {order_type} order takes no price"


@pytest.mark.parametrize("kind", ["reduce_position", "liquidate_position"])
def test_with_a_reference_to_a_position_the_quantity_may_be_left_out(kind):
    order = placed({**without("quantity"), "quantity_reference": {"kind": kind}, "disclosed_quantity": 3})
    assert (order.quantity, order.references.quantity.kind, order.references.typed_quantity) == (0, kind, None)
    order = placed(changed(quantity_reference={"kind": kind}))
    assert (order.quantity, order.references.typed_quantity) == (10, 10)
    assert refusal(changed(quantity=11.5, quantity_reference={"kind": kind})) == QUANTITY_WHOLE
    assert refusal(changed(quantity=0, quantity_reference={"kind": kind})) == QUANTITY_WHOLE


@pytest.mark.parametrize("quantity", [None, 0, -5])
def test_a_reference_that_takes_the_bodys_quantity_needs_one(quantity):
    for kind in ("absolute", "add_to_position"):
        sentence = f"a {kind} quantity_reference needs a quantity of at least 1"
        assert refusal(changed(quantity=quantity, quantity_reference={"kind": kind})) == sentence


# --- synthetic ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shown"), [("braket", "braket"), (" Pegg ", " Pegg "), ("", ""), (5, "5"), ([], "[]")]
)
def test_a_type_that_the_engine_does_not_run_is_refused_with_those_it_runs(kind, shown):
    assert refusal(changed(synthetic={"type": kind})) == not_run(shown)


@pytest.mark.parametrize("synthetic", ["simple", 5, [], True])
def test_synthetic_is_an_object(synthetic):
    assert refusal(changed(synthetic=synthetic)) == "synthetic must be a JSON object"


@pytest.mark.parametrize(
    "synthetic", [None, {}, {"type": None}, {"type": "simple"}, {"type": " SIMPLE "}, {"hold_limits": False}]
)
def test_an_order_without_a_type_is_a_simple_one(synthetic):
    assert placed(changed(synthetic=synthetic)).closes_position is False


@pytest.mark.parametrize(
    ("value", "closes"), [(True, True), (False, False), (None, False), ("true", False), (1, False), ([True], False)]
)
def test_only_a_literal_true_closes_a_position(value, closes):
    assert placed(changed(synthetic={"type": "simple", "closes_position": value})).closes_position is closes


@pytest.mark.parametrize("kind", ["simple", "bracket", "trailing_stop", "plan"])
def test_exits_follow_position_is_a_flag_of_every_type(kind):
    for wrong in (1, 0, "true", "false", [], {}):
        asked = changed(synthetic={"type": kind, "exits_follow_position": wrong})
        assert refusal(asked) == "exits_follow_position must be true or false"


def test_hold_limits_is_a_flag_and_never_true_for_a_simple_order():
    for wrong in ("true", 1, 0, []):
        assert refusal(changed(synthetic={"hold_limits": wrong})) == "hold_limits must be true or false"
    sentence = "a simple order is never held, so hold_limits cannot be true"
    assert refusal(changed(synthetic={"hold_limits": True})) == sentence


@pytest.mark.parametrize(
    "name", ["tick_size", "triggered_at", "watermark", "placed_quantity", "started_at", "expires_at"]
)
def test_the_engines_working_values_must_not_be_sent(name):
    sentence = f"{name} is worked out by the order engine, so it must not be sent"
    assert refusal(changed(synthetic={"trail_points": 5, name: 5})) == sentence


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("trail_points", ""),
        ("stop_price", ""),
        ("Closes_Position", "; did you mean closes_position?"),
        ("", ""),
    ],
)
def test_a_simple_order_takes_no_other_setting(name, offered):
    assert refusal(changed(synthetic={"type": "simple", name: 5})) == f"a simple order takes no {name}{offered}"


# --- the order of the checks -------------------------------------------------------------------------------------------

NEEDS_QUANTITY = "a add_to_position quantity_reference needs a quantity of at least 1"
STEPS = [
    ({"transaction_type": "x"}, "transaction_type must be one of BUY, SELL"),
    ({"product": "x"}, "product must be one of CNC, MIS, NRML"),
    ({"order_type": "x"}, "order_type must be one of MARKET, LIMIT, SL, SL-M"),
    ({"validity": "x"}, "validity must be one of DAY, IOC"),
    ({"quantity": 0, "quantity_reference": None}, QUANTITY_WHOLE),
    ({"disclosed_quantity": -1}, "disclosed_quantity must be a whole number of at least 0"),
    ({"price": -1}, "price must be a number of at least 0"),
    ({"trigger_price": -1}, "trigger_price must be a number of at least 0"),
    ({"price": None, "price_reference": None}, "a LIMIT order needs a price"),
    ({"trigger_price": 5}, "a LIMIT order takes no trigger_price"),
    ({"price_reference": 5}, "price_reference must be a JSON object"),
    ({"quantity_reference": 5}, "quantity_reference must be a JSON object"),
    ({"price_reference": {"kind": "mid", "offset_ticks": 0.5}}, "offset_ticks must be a whole number"),
    ({"quantity_reference": {"kind": "add_to_position"}, "quantity": None}, NEEDS_QUANTITY),
    ({"after_market": 5}, "after_market must be true or false"),
    ({"dry_run": 5}, "dry_run must be true or false"),
    ({"tag": "-"}, "tag must be 1 to 20 letters and digits"),
    ({"instrument_id": "x"}, "instrument_id must be a UUID"),
    ({"broker": "x"}, "broker must be one of upstox, zerodha"),
    ({"synthetic": {"type": "pegg", "hold_limits": 5}}, not_run("pegg")),
    ({"price": 0.01}, "price must be a whole number of ticks of 0.05"),
    ({"synthetic": {"hold_limits": 5, "watermark": 5}}, "hold_limits must be true or false"),
    ({"synthetic": {"watermark": 5, "x": 5}}, "watermark is worked out by the order engine, so it must not be sent"),
    ({"synthetic": {"x": 5}}, "a simple order takes no x"),
]


@every_case("number", range(len(STEPS)))
def test_the_first_problem_in_the_order_of_the_checks_is_the_one_told(number):
    body = dict(GOOD)
    for wrong, _ in reversed(STEPS[number:]):
        body |= wrong
    assert refusal(body) == STEPS[number][1]


# --- anything ----------------------------------------------------------------------------------------------------------

ANY_SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
ANY_JSON = st.recursive(
    ANY_SCALAR | st.sampled_from([10**400, -(10**400), 5e-324, 1.7e308, -0.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = {
    **dict.fromkeys(GOOD, ANY_JSON),
    "transaction_type": st.sampled_from(["BUY", "sell"]) | ANY_JSON,
    "order_type": st.sampled_from(["MARKET", "limit", "SL", "sl-m"]) | ANY_JSON,
    "product": st.sampled_from(["CNC", "nrml"]) | ANY_JSON,
    "validity": st.sampled_from(["DAY", None]) | ANY_JSON,
    "quantity": st.integers(1) | ANY_JSON,
    "disclosed_quantity": st.none() | ANY_JSON,
    "price": st.none() | st.floats(0) | st.integers(0) | ANY_JSON,
    "trigger_price": st.none() | st.floats(0) | ANY_JSON,
    "instrument_id": st.just(SHARE.instrument_id) | st.none() | ANY_JSON,
    "exchange": st.sampled_from(["nse", "MCX"]) | ANY_JSON,
    "segment": st.sampled_from(sorted(SEGMENT_SHAPES)) | ANY_JSON,
    "symbol": st.text() | ANY_JSON,
    "underlying_symbol": st.text(min_size=1) | ANY_JSON,
    "expiry_date": st.dates().map(date.isoformat) | ANY_JSON,
    "strike_price": st.floats() | st.integers() | ANY_JSON,
    "option_type": st.sampled_from(["CE", "pe"]) | ANY_JSON,
    "tag": st.none() | ANY_JSON,
    "broker": st.sampled_from(BROKERS) | ANY_JSON,
    "synthetic": st.fixed_dictionaries({}, optional={"type": ANY_JSON, "hold_limits": ANY_JSON, "x": ANY_JSON})
    | ANY_JSON,
    "dry_run": st.booleans() | ANY_JSON,
    "after_market": st.booleans() | ANY_JSON,
    "price_reference": st.fixed_dictionaries(
        {"kind": st.sampled_from(["mid", "absolute"])}, optional={"price": ANY_JSON}
    )
    | ANY_JSON,
    "quantity_reference": st.fixed_dictionaries({"kind": st.sampled_from(["absolute", "reduce_position"])}) | ANY_JSON,
}


@given(body=st.fixed_dictionaries({}, optional=FIELDS) | st.dictionaries(st.text(), ANY_JSON))
def test_no_json_object_raises_anything_but_a_refusal(body):
    tried = attempt(body)
    if isinstance(tried, Refusal):
        assert tried.status == 400
        assert tried.sentence
    else:
        sized = tried.references is not None and tried.references.quantity is not None
        assert (0 if sized else 1) <= tried.quantity < 2**53


@given(st.data())
def test_one_wrong_field_in_a_good_order_raises_nothing_but_a_refusal(data):
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    body = changed(**{name: data.draw(FIELDS[name])})
    tried = attempt(body)
    if isinstance(tried, Refusal):
        assert tried.status == 400
    else:
        assert tried.price is None or tried.price >= 0


def test_a_body_nested_without_end_is_refused():
    value: object = 5
    for _ in range(MOST_DEPTH + 1):
        value = [value] if isinstance(value, dict) else {"a": value}
    assert refusal(changed(unheard_of=value)) == "the request body is nested too deeply"
    assert placed(changed(unheard_of={"a": [{"b": [1]}]})).sent["unheard_of"] == {"a": [{"b": [1]}]}


def test_the_body_is_kept_as_it_was_sent():
    body = changed(tag="mine1", unheard_of=[1])
    assert placed(body).sent == body
