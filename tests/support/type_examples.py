"""One order of every type, as a caller writes it: what the tests over HTTP send. Prices by percent of the last one."""

from collections.abc import Callable
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Example:
    """An order that begins as its type does in a market that stands still, ten units, bought intraday unless it says otherwise."""

    settings: dict[str, Any]
    body: dict[str, Any] = attrs.field(factory=dict)
    status: int
    """Of the first answer."""
    instrument: str = "share"
    """`share`, or `option`."""


Percent = Callable[[float], float]


def examples(at: Percent, other: str, near: Callable[[int], str]) -> dict[str, Example]:
    """Return name -> example. `at` gives the share's price so many percent away, `other` is another instrument's id, `near` the time of
    day (HH:MM:SS) so many minutes from now."""
    limit: Callable[[float], dict[str, Any]] = lambda percent: {"order_type": "LIMIT", "price": at(percent)}  # noqa: E731
    step = round(abs(at(0) - at(-1)), 2)
    sell = {"transaction_type": "SELL"}
    stop = {"stop_price": at(-4), "stop_limit_price": at(-5)}
    candidates = [{**limit(-3), "quantity": 10}, {**limit(-4), "quantity": 5}]
    return {
        "account_conditional": Example(
            settings={"watch_field": "day_pnl", "trigger_level": 10_000_000, "trigger_direction": "above"}, status=202
        ),
        "accumulation": Example(settings={"piece_quantity": 5, "every_seconds": 3600, "wait_for_fill": True}, body=limit(-3), status=200),
        "atr_trail": Example(settings={"trail_points": step * 5, "stop_limit_offset": 1}, body=sell, status=200),
        "attached_hedge": Example(settings={"hedge_instrument_id": other, "hedge_ratio": 1}, body=limit(-3), status=200),
        "basket": Example(settings={"candidates": candidates}, status=200),
        "bracket": Example(settings={**stop, "target_price": at(4)}, body=limit(-2), status=202),
        "candle_close_stop": Example(settings={"trigger_price": at(-4)}, body=sell, status=202),
        "chaser": Example(settings={"step_seconds": 3600, "cap_price": at(-1)}, body=limit(-3), status=200),
        "close_on_trigger": Example(settings={"trigger_price": at(-4)}, body={"quantity": None}, status=409),
        "closing_price": Example(settings={"slices": 2}, status=202),
        "cover": Example(settings=stop, body=limit(-2), status=202),
        "cross_instrument": Example(
            settings={"watch_instrument_id": other, "trigger_price": 0.05, "trigger_direction": "below", "limit_price": at(-1)}, status=202
        ),
        "daily_stop": Example(settings=stop, body=sell, status=202),
        "discretionary": Example(settings={"discretion_points": step}, body=limit(-3), status=200),
        "exposure_hedge": Example(settings={"exposure_instruments": [{"instrument_id": other}], "band": 10_000_000}, body={"quantity": None}, status=202),
        "freeze_slicer": Example(settings={"hold_limits": False}, body=limit(-3), status=200),
        "good_till_time": Example(settings={"until_time": near(20), "hold_limits": False}, body=limit(-3), status=200),
        "grid": Example(settings={"levels": 2, "step_points": step}, status=200),
        "gtt": Example(settings={"trigger_price": at(-4), "limit_price": at(-4)}, status=202),
        "hidden_stop": Example(settings={"trigger_price": at(-4)}, body=sell, status=202),
        "iceberg": Example(settings={"slice_quantity": 4}, body=limit(-3), status=200),
        "implementation_shortfall": Example(settings={"slices": 2, "over_minutes": 5, "hold_limits": False}, body=limit(-3), status=200),
        "indicator_triggered": Example(
            settings={"watch_field": "last_price", "trigger_price": at(-4), "limit_price": at(-4)}, status=202
        ),
        "ladder": Example(settings={"from_price": at(-2), "to_price": at(-4), "steps": 2, "hold_limits": False}, status=200),
        "legged_spread": Example(settings={"second_instrument_id": other, "net_price": -10}, body=limit(-3), status=200),
        "limit_if_touched": Example(settings={"trigger_price": at(-4), "limit_price": at(-4)}, status=202),
        "liquidity_seeking": Example(settings={"limit_price": at(-4), "minimum_quantity": 10}, status=202),
        "market_if_touched": Example(settings={"trigger_price": at(-4)}, status=202),
        "marketable_limit": Example(settings={}, status=200),
        "oca": Example(settings={"candidates": candidates, "hold_limits": False}, status=200),
        "oco": Example(settings={**stop, "target_price": at(4)}, body=sell, status=200),
        "opening_auction": Example(settings={}, body=limit(-2), status=400),
        "oto": Example(
            settings={"then": {"transaction_type": "SELL", **limit(3)}, "hold_limits": False}, body=limit(-3), status=200
        ),
        "participation": Example(settings={"participation_percent": 1}, status=202),
        "peg": Example(settings={"cap_price": at(-3)}, status=200),
        "post_only": Example(settings={}, body=limit(-3), status=200),
        "scale_out": Example(settings={**stop, "target_prices": [at(3), at(4)]}, body=limit(-2), status=202),
        "scale_with_profit_taker": Example(
            settings={"levels": 2, "step_points": step, "profit_points": step, "hold_limits": False},
            body=limit(-3), status=200,
        ),
        "scheduled": Example(settings={"at_time": near(20)}, status=202),
        "square_off": Example(settings={"at_time": near(20)}, body={"quantity": None}, status=202),
        "stepped_stop": Example(
            settings={"entry_price": at(0), "stop_price": at(-4), "stop_limit_offset": 1, "rules": [{"gain": 5, "stop_at_gain": 0}]},
            body=sell, status=200,
        ),
        "stop_and_reverse": Example(settings={"trigger_price": at(-4)}, body={"quantity": None}, status=409),
        "strategy_stop": Example(settings={"instrument_ids": [other], "max_loss": 100}, body={"quantity": None}, status=409),
        "time_stop": Example(settings={"minutes": 20, "hold_limits": False}, body=limit(-3), status=200),
        "trailing_entry": Example(settings={"trail_percent": 5, "stop_limit_offset": 1}, status=200),
        "trailing_stop": Example(settings={"trail_percent": 5, "stop_limit_offset": 1}, body=sell, status=200),
        "twap": Example(settings={"slices": 2, "over_minutes": 5, "hold_limits": False}, body=limit(-3), status=200),
        "two_sided_breakout": Example(
            settings={
                "buy_trigger": at(3), "buy_limit": at(4), "sell_trigger": at(-3), "sell_limit": at(-4),
                "stop_distance": 2, "stop_limit_offset": 1, "target_distance": 3,
            },
            status=200,
        ),
        "two_sided_quote": Example(settings={"half_spread_ticks": 40}, status=200),
        "underlying_peg": Example(
            settings={"watch_instrument_id": other, "delta": 0, "highest_price": at(-3)}, body=limit(-3), status=200
        ),
        "virtual_limit": Example(settings={}, body=limit(-3), status=202),
        "volatility": Example(
            settings={"watch_instrument_id": other, "volatility": 1, "lowest_price": 0.05, "highest_price": 0.05}, body={"order_type": "LIMIT", "price": 0.05},
            status=200, instrument="option",
        ),
        "vwap": Example(settings={"slices": 2, "over_minutes": 5}, body=limit(-3), status=200),
    }  # fmt: skip
