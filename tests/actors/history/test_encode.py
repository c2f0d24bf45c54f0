"""The JSON of candles and ticks, read back by another reader."""

import json

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.adjust import rounded_adjusted
from onebroker.actors.history.encode import ROWS_AT_ONCE, encode_candles, encode_ticks
from onebroker.actors.history.interface import CANDLE_VALUES, INDIA_DAY, INDIA_OFFSET, TICK_VALUES

MINUTE = 60_000_000


def candle_frame(times, **given):
    values = {"open": 1.0, "high": 2.005, "low": 0.5, "close": 1e-9, "volume": None, "oi": 12} | given
    return pl.DataFrame([{"time": time, **values} for time in times], schema=CANDLE_VALUES, orient="row")


def test_a_candle_is_an_array_with_india_time_and_rounded_prices():
    encoded = encode_candles(candle_frame([1_700_000_040_000_000]), 2)
    assert json.loads(encoded.body) == ["2023-11-15T03:44:00+05:30", 1.0, 2.01, 0.5, 0.0, None, 12]
    with_factor = candle_frame([0]).with_columns(price_factor=pl.lit(0.05))
    assert json.loads(encode_candles(with_factor, 4).body)[-1] == 0.05
    beyond = candle_frame([0], open=1e308, volume=2**62).with_columns(open=pl.col("open") * 10)
    assert json.loads(encode_candles(beyond, 2).body)[1] is None
    assert json.loads(encode_candles(candle_frame([0], high=2.00504), 4).body)[2] == 2.005


def test_adjusted_prices_have_four_decimals_or_six_figures_and_those_as_traded_the_segments():
    # Apple on 2 January 1998, as traded and with all splits and dividends since.
    prices = {"open": 13.63 * 0.00769, "high": 16.25 * 0.00769, "low": 13.5 * 0.00769, "close": 16.25 * 0.00769}
    frame = candle_frame([0, MINUTE], **prices).with_columns(price_factor=pl.Series([0.00769, 1.0]))
    adjusted, traded = json.loads(b"[" + encode_candles(frame, 2).body + b"]")
    assert adjusted[1:5] == [0.104815, 0.124963, 0.103815, 0.124963]
    assert traded[1:5] == [0.1, 0.12, 0.1, 0.12]
    tick = dict.fromkeys(TICK_VALUES) | {"time": 0, "broker": "zerodha", "last_price": 1234.56789, "open": 0.0123456789,
                                         "buy": [{"price": 3.14159265, "quantity": 1, "orders": 1}]}  # fmt: skip
    (text,) = encode_ticks(pl.DataFrame([tick], schema=TICK_VALUES, orient="row"), None)
    shown = json.loads(text)
    assert (shown["last_price"], shown["ohlc"]["open"], shown["depth"]["buy"][0]["price"]) == (
        1234.5679,
        0.0123457,
        3.14159,
    )


@given(st.floats(1e-6, 1e7), st.sampled_from([1, -1]))
def test_an_adjusted_price_is_shown_to_a_hundredth_of_a_per_mille_and_never_with_fewer_than_four_decimals(price, sign):
    shown = pl.select(rounded_adjusted(pl.lit(price * sign))).item()
    assert abs(shown - price * sign) <= min(price * 0.5e-5, 0.5e-4) * (1 + 1e-9)
    assert len(repr(shown)) <= len("-12345678.1234"), "no figures that are none"


@given(times=st.lists(st.integers(0, 5000), unique=True).map(sorted), first=st.integers(-1, 5), days=st.integers(0, 6))
def test_the_days_of_a_series_are_what_encoding_those_days_gives(times, first, days):
    """A day has 1,000 candles here, and some days have none."""
    candles = [INDIA_DAY * (time // 1000) - INDIA_OFFSET + time % 1000 * MINUTE for time in times]
    start, end = INDIA_DAY * first - INDIA_OFFSET, INDIA_DAY * (first + days) - INDIA_OFFSET
    encoded = encode_candles(candle_frame(candles, volume=123), 2)
    wanted = encode_candles(candle_frame([time for time in candles if start <= time < end], volume=123), 2).body
    assert encoded.between(start, end) == wanted
    assert encoded.size >= len(encoded.body)


def test_a_tick_is_an_object_with_utc_time_in_microseconds():
    full = {
        "time": 1_700_000_000_000_001, "broker": "zerodha", "last_price": 100.055, "average_price": None, "open": 99.0,
        "high": 101.0, "low": 98.5, "close": 97.0, "last_quantity": 5, "volume": 7, "buy_quantity": 1,
        "sell_quantity": 2, "oi": None, "buy": [{"price": 100.004, "quantity": 3, "orders": None}], "sell": None,
    }  # fmt: skip
    bare = dict.fromkeys(TICK_VALUES) | {"time": 0, "broker": "a\nb", "last_price": 1.0}
    frame = pl.DataFrame([full, bare], schema=TICK_VALUES, orient="row")
    first, second = json.loads(b"[" + b",".join(encode_ticks(frame, 2)) + b"]")
    assert list(first) == ["time", "broker", "last_price", "average_price", "ohlc", "last_quantity", "volume",
                           "buy_quantity", "sell_quantity", "oi", "depth"]  # fmt: skip
    assert first["time"] == "2023-11-14T22:13:20.000001+00:00"
    assert (first["last_price"], first["average_price"]) == (100.06, None)
    assert first["ohlc"] == {"open": 99.0, "high": 101.0, "low": 98.5, "close": 97.0}
    assert first["depth"] == {"buy": [{"price": 100.0, "quantity": 3, "orders": None}], "sell": []}
    assert (second["time"], second["broker"], second["depth"]) == ("1970-01-01T00:00:00.000000+00:00", "a\nb", None)


def test_many_ticks_come_in_several_texts():
    bare = dict.fromkeys(TICK_VALUES) | {"broker": "zerodha", "last_price": 1.0}
    frame = pl.DataFrame([bare | {"time": n} for n in range(ROWS_AT_ONCE + 1)], schema=TICK_VALUES, orient="row")
    texts = list(encode_ticks(frame, 2))
    assert len(texts) == 2
    assert len(json.loads(b"[" + b",".join(texts) + b"]")) == ROWS_AT_ONCE + 1
    assert list(encode_ticks(frame.clear(), 2)) == []
