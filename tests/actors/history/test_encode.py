"""The JSON of candles and ticks, read back by another reader."""

import json

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.encode import ROWS_AT_ONCE, encode_candles, encode_ticks
from onebroker.actors.history.interface import CANDLE_VALUES, TICK_VALUES

MINUTE = 60_000_000


def candle_frame(times, **given):
    values = {"open": 1.0, "high": 2.005, "low": 0.5, "close": 1e-9, "volume": None, "oi": 12} | given
    return pl.DataFrame([{"time": time, **values} for time in times], schema=CANDLE_VALUES, orient="row")


def test_a_candle_is_an_array_with_india_time_and_rounded_prices():
    encoded = encode_candles(candle_frame([1_700_000_040_000_000]), 2)
    assert json.loads(encoded.body) == ["2023-11-15T03:44:00+05:30", 1.0, 2.01, 0.5, 0.0, None, 12]
    with_factor = candle_frame([0]).with_columns(price_factor=pl.lit(0.05))
    assert json.loads(encode_candles(with_factor, 4).body)[-1] == 0.05
    assert json.loads(encode_candles(candle_frame([0], high=2.00504), 4).body)[2] == 2.005


@given(times=st.lists(st.integers(0, 50), unique=True).map(sorted), start=st.integers(-5, 55), end=st.integers(-5, 55))
def test_a_part_of_what_is_encoded_is_what_encoding_the_part_gives(times, start, end):
    encoded = encode_candles(candle_frame([time * MINUTE for time in times], volume=123), 2)
    part = [time * MINUTE for time in times if start <= time < end]
    wanted = encode_candles(candle_frame(part, volume=123), 2).body
    assert encoded.between(start * MINUTE, end * MINUTE) == wanted
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
