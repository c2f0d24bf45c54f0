"""A chain over a day: which strikes, which forward, what is null and why, and that no broker is asked."""

from datetime import date, datetime

import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.chain.contracts import ChainName
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.quotes.messages import Touched
from onebroker.config.clock import IST
from onebroker.config.refusal import Refusal
from tests.support.chain_cells import cells

MONTHLY, WEEKLY = date(2026, 12, 29), date(2026, 12, 1)
EXPIRES = datetime(2026, 12, 29, 15, 30, tzinfo=IST)
EVENING = 6 * 3600.0
"""Seconds from noon to an hour of the closed market."""


async def test_volatility_and_greeks_of_every_cell_come_from_the_future_of_that_expiry(autojump_clock, desk):
    desk.tick(desk.future, 26_100.0)
    desk.tick_chain(26_100.0, volume=75, oi=150)
    chain = await desk.chains.chain(desk.name())
    assert (chain.forward.source, chain.forward.price) == ("future", 26_100.0)
    assert chain.forward.instrument_id == desk.future.instrument_id
    assert [row.strike_price for row in chain.rows] == [float(strike) for strike in range(25_600, 26_600, 50)]
    assert chain.market_open
    assert chain.expires_at == EXPIRES.timestamp()
    assert chain.days_to_expiry == pytest.approx(34 + 3.5 / 24)
    for cell in cells(chain):
        assert cell.implied_volatility == pytest.approx(0.13, abs=2e-4)
        assert None not in (cell.delta, cell.gamma, cell.theta, cell.vega, cell.rho)
        assert (cell.priced_by, cell.source, cell.age_seconds) == ("mid", "quote", 0.0)
        assert (cell.volume, cell.oi, set(cell.missing)) == (75, 150, {"oi_change"})
    assert (chain.totals.atm_strike, chain.totals.pcr_oi, chain.totals.pcr_volume) == (26_100.0, 1.0, 1.0)
    middle = next(row for row in chain.rows if row.strike_price == 26_100.0)
    assert chain.totals.straddle_price == pytest.approx(middle.ce.last_price + middle.pe.last_price)
    assert middle.ce.delta - middle.pe.delta == pytest.approx(1.0)
    assert middle.ce.theta < 0 < middle.ce.vega


async def test_without_a_future_of_the_expiry_parity_gives_the_forward(autojump_clock, desk):
    desk.tick(desk.future, 26_180.0)  # of another expiry
    desk.tick_chain(26_060.0, WEEKLY)
    chain = await desk.chains.chain(desk.name(WEEKLY))
    assert (chain.forward.source, chain.forward.instrument_id) == ("parity", None)
    assert chain.forward.price == pytest.approx(26_060.0, abs=0.1)
    assert all(cell.implied_volatility == pytest.approx(0.13, abs=2e-3) for cell in cells(chain) if cell.vega)


async def test_without_any_future_the_strikes_follow_the_options_that_have_quotes(autojump_clock, desk):
    desk.tick_chain(26_500.0, WEEKLY, strikes=[26_400.0, 26_450.0, 26_500.0])
    chain = await desk.chains.chain(desk.name(WEEKLY, strikes=5))
    assert [row.strike_price for row in chain.rows] == [26_400.0, 26_450.0, 26_500.0, 26_550.0, 26_600.0]
    assert chain.forward.price == pytest.approx(26_500.0, abs=0.1)


async def test_with_nothing_known_the_middle_strikes_are_shown_and_asked_for_from_the_feeds_alone(autojump_clock, desk):
    chain = await desk.chains.chain(desk.name(strikes=4))
    assert [row.strike_price for row in chain.rows] == [25_900.0, 25_950.0, 26_000.0, 26_050.0]
    assert chain.forward.price is None
    assert chain.forward.reason == "neither the future of this expiry nor a call and a put of one strike have a price"
    for cell in cells(chain):
        assert cell.missing == {"quote": "no quote has come yet; the brokers' feeds were asked for it"}
        assert (cell.last_price, cell.bid, cell.oi, cell.implied_volatility, cell.delta) == (None,) * 5
    asked = desk.asked()
    assert {type(message) for message in asked} == {Touched}
    wanted = {desk.future.instrument_id, *(cell.instrument_id for cell in cells(chain))}
    assert {message.instrument_id for message in asked} == wanted


async def test_a_quote_of_an_open_market_that_is_too_old_is_not_shown(autojump_clock, desk):
    desk.tick(desk.future, 26_100.0)
    desk.tick_chain(26_100.0)
    await trio.sleep(301)
    desk.tick(desk.future, 26_100.0)
    chain = await desk.chains.chain(desk.name())
    assert {cell.missing["quote"] for cell in cells(chain)} == {
        "the last quote is too old; the brokers' feeds were asked for it"
    }
    assert {cell.last_price for cell in cells(chain)} == {None}


async def test_after_the_close_the_last_quotes_stay_and_their_volatility_does_not_move_with_the_night(
    autojump_clock, desk
):
    await trio.sleep(3.4 * 3600)
    desk.tick(desk.future, 26_100.0)
    desk.tick_chain(26_100.0)
    by_day = await desk.chains.chain(desk.name())
    await trio.sleep(EVENING)
    by_night = await desk.chains.chain(desk.name())
    assert (by_day.market_open, by_night.market_open) == (True, False)
    assert by_night.days_to_expiry < by_day.days_to_expiry - 0.2
    for day, night in zip(cells(by_day), cells(by_night), strict=True):
        assert night.age_seconds == pytest.approx(day.age_seconds + EVENING, abs=0.2)
        assert night.implied_volatility == pytest.approx(day.implied_volatility, rel=1e-3)


async def test_after_the_close_day_candles_stand_in_for_quotes_but_never_in_an_open_market(autojump_clock, desk):
    identity = desk.option(26_000.0, "CE")
    desk.tick(desk.future, 26_010.0)
    await desk.put_day_candle(identity, date(2026, 11, 24), 512.35, 900)
    chain = await desk.chains.chain(desk.name(strikes=1))
    assert chain.rows[0].ce.last_price is None
    await trio.sleep(EVENING)
    desk.tick(desk.future, 26_010.0)
    chain = await desk.chains.chain(desk.name(strikes=1))
    cell = chain.rows[0].ce
    assert (cell.last_price, cell.oi, cell.source, cell.priced_by) == (512.35, 900, "candle", "last")
    assert cell.received_at == datetime(2026, 11, 24, tzinfo=IST).timestamp()
    assert cell.implied_volatility is not None
    assert set(cell.missing) == {"bid", "ask", "volume", "oi_change"}


async def test_the_change_of_open_interest_counts_from_the_day_before(autojump_clock, desk):
    identity = desk.option(26_000.0, "CE")
    desk.tick(desk.future, 26_010.0)
    desk.tick_chain(26_010.0, strikes=[26_000.0], oi=1_000)
    await desk.put_day_candle(identity, date(2026, 11, 24), 512.35, 900)
    cell = (await desk.chains.chain(desk.name(strikes=1))).rows[0].ce
    assert (cell.oi, cell.oi_change) == (1_000, 100)
    put = (await desk.chains.chain(desk.name(strikes=1))).rows[0].pe
    assert (put.oi_change, put.missing["oi_change"]) == (None, "the open interest of the day before is not stored")


async def test_a_store_that_cannot_be_read_costs_only_the_change(autojump_clock, desk, caplog):
    desk.history.fail_with(HistoryError("the disk is gone"))
    desk.tick(desk.future, 26_010.0)
    desk.tick_chain(26_010.0, strikes=[26_000.0], oi=1_000)
    cell = (await desk.chains.chain(desk.name(strikes=1))).rows[0].ce
    assert (cell.oi, cell.oi_change, cell.implied_volatility is not None) == (1_000, None, True)
    assert "the disk is gone" in caplog.text


async def test_what_a_tick_does_not_tell_is_null_with_its_reason(autojump_clock, desk):
    desk.tick(desk.future, 26_010.0)
    desk.tick(desk.option(26_000.0, "CE"), 500.0, width=None)
    desk.tick(desk.option(26_000.0, "PE"), 480.0, width=None, buy=(), sell=())
    (row,) = (await desk.chains.chain(desk.name(strikes=1))).rows
    assert (row.ce.bid, row.ce.ask, row.ce.volume, row.ce.oi, row.ce.priced_by) == (None, None, None, None, "last")
    assert row.ce.missing["bid"] == row.ce.missing["ask"] == "the feed sends no depth of it"
    assert row.ce.missing["volume"] == row.ce.missing["oi"] == "the feed does not tell it"
    assert (row.pe.missing["bid"], row.pe.missing["ask"]) == ("nobody buys", "nobody sells")
    assert row.ce.implied_volatility is not None


async def test_a_price_below_the_value_at_exercise_has_no_greeks_but_keeps_its_quote(autojump_clock, desk):
    desk.tick(desk.future, 26_500.0)
    desk.tick(desk.option(25_000.0, "CE"), 1_400.0)
    chain = await desk.chains.chain(desk.name(strikes=41))
    cell = chain.rows[0].ce
    assert (cell.last_price, cell.implied_volatility, cell.delta) == (1_400.0, None, None)
    assert cell.missing["greeks"] == "the price is not above the value at exercise"


async def test_on_the_evening_of_the_expiry_the_options_have_expired(autojump_clock, desk):
    await trio.sleep((EXPIRES - desk.clock.now()).total_seconds() - 5)
    desk.tick(desk.future, 26_010.0)
    desk.tick_chain(26_010.0, strikes=[26_000.0])
    await trio.sleep(3600)
    chain = await desk.chains.chain(desk.name(strikes=1))
    assert (chain.days_to_expiry, chain.market_open) == (0, False)
    assert chain.rows[0].pe.missing["greeks"] == "the option has expired"


@pytest.mark.parametrize(
    ("name", "status", "sentence"),
    [
        ({"underlying_symbol": "NO"}, 404, "no options on NO that expire on 2026-12-29 are mapped at nse on 2026-11-25"),
        ({"expiry_date": "2026-12-30"}, 404, "no options on NIFTY that expire on 2026-12-30 are mapped at nse on 2026-11-25"),
        ({"segment": "nse_equity_options"}, 404, "no options on NIFTY that expire on 2026-12-29 are mapped at nse on 2026-11-25"),
    ],
)  # fmt: skip
async def test_a_chain_that_is_not_listed_is_refused(autojump_clock, desk, name, status, sentence):
    usual = {"exchange": "nse", "underlying_symbol": "NIFTY", "expiry_date": "2026-12-29"}
    with pytest.raises(Refusal) as refused:
        await desk.chains.chain(ChainName(**usual | name))
    assert (refused.value.status, refused.value.sentence) == (status, sentence)


async def test_a_new_mapping_is_used_at_once(autojump_clock, desk):
    await desk.chains.chain(desk.name())
    desk.chains._catalogue.set(CatalogueState(latest=None, published_today=False, reason="x"))
    with pytest.raises(Refusal) as refused:
        await desk.chains.chain(desk.name())
    assert refused.value.status == 503
