"""The rules of the screen that need no page: into which candle a live price goes, and which cancels are asked about first.

They are run by Node, where it is installed; the pages that use them are tried in Chromium (tests/demo/test_dashboard.py).
"""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

STATIC = Path(__file__).resolve().parents[3] / "http" / "dashboard" / "static"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")

FRIDAY, SATURDAY = 1_795_717_800, 1_795_804_200
"""Midnight in India of 27 and 28 November 2026, in epoch seconds."""
IST = 19_800
LAST = {"time": FRIDAY + IST, "open": 380.75, "high": 380.95, "low": 377.4, "close": 377.7}


@pytest.fixture
def run(tmp_path):
    """Call a function of a module with JSON values, and return its value."""
    for name in ("bars", "exits", "format"):
        text = (STATIC / f"{name}.js").read_text().replace('"/dashboard/format.js"', '"./format.mjs"')
        (tmp_path / f"{name}.mjs").write_text(text)

    def call(module, function, *given):
        script = (
            f"import {{ {function} }} from './{module}.mjs';"
            f"console.log(JSON.stringify({function}(...{msgspec.json.encode(given).decode()})))"
        )
        (tmp_path / "main.mjs").write_text(script)
        told = subprocess.run([NODE, "main.mjs"], cwd=tmp_path, capture_output=True, check=True, timeout=60)
        return msgspec.json.decode(told.stdout)

    return call


def test_a_price_of_a_later_day_begins_a_bar_and_leaves_the_earlier_one_alone(run):
    quote = {
        "last_price": 370.65,
        "last_trade_time": SATURDAY + 10 * 3600,
        "ohlc": {"open": 381, "high": 382, "low": 370.1},
    }
    bar = run("bars", "barWith", LAST, quote, "day")
    assert bar == {"time": SATURDAY + IST, "open": 381, "high": 382, "low": 370.1, "close": 370.65}
    again = run("bars", "barWith", bar, {**quote, "last_price": 369}, "day")
    assert again == {**bar, "low": 369, "close": 369}
    without = {"last_price": 370.65, "last_trade_time": SATURDAY + 10 * 3600}
    assert run("bars", "barWith", LAST, without, "day")["open"] == 370.65


def test_a_price_of_the_same_bar_moves_it_and_an_older_one_never_does(run):
    now = FRIDAY + 15 * 3600
    assert run("bars", "barWith", LAST, {"last_price": 370.65, "last_trade_time": now}, "day") == {
        **LAST,
        "low": 370.65,
        "close": 370.65,
    }
    assert run("bars", "barWith", LAST, {"last_price": 370.65, "last_trade_time": FRIDAY - 3600}, "day") == LAST
    assert run("bars", "barWith", LAST, {"last_price": 370.65, "last_trade_time": None}, "day") == LAST


@pytest.mark.parametrize(("interval", "seconds"), [("1minute", 60), ("15minute", 900)])
def test_a_minute_and_a_quarter_of_an_hour_begin_bars_too(run, interval, seconds):
    begins = FRIDAY + 10 * 3600
    last = {**LAST, "time": begins + IST}
    same = {"last_price": 390, "last_trade_time": begins + seconds - 1, "ohlc": {"open": 1, "high": 999, "low": 1}}
    assert run("bars", "barWith", last, same, interval) == {**last, "high": 390, "close": 390}
    bar = run("bars", "barWith", last, {**same, "last_trade_time": begins + seconds}, interval)
    assert bar == {"time": begins + seconds + IST, "open": 390, "high": 390, "low": 390, "close": 390}


def test_without_the_time_of_a_trade_only_a_new_price_begins_a_bar(run):
    quiet = {"last_price": LAST["close"], "received_at": SATURDAY + 3600}
    assert run("bars", "barWith", LAST, quiet, "day") == LAST
    assert run("bars", "barWith", LAST, {**quiet, "last_price": 380}, "day")["time"] == SATURDAY + IST


ROW = {
    "broker": "zerodha", "instrument_id": "I", "product": "MIS", "transaction_type": "SELL", "order_type": "SL", "quantity": 50,
    "filled_quantity": 0, "pending_quantity": 50, "symbol": "INFY",
}  # fmt: skip
HELD = [
    {
        "instrument_id": "I",
        "product": "intraday",
        "by_broker": [{"broker": "zerodha", "quantity": 50}, {"broker": "upstox", "quantity": 9}],
    }
]
BRACKET = {
    "parent_order_id": "p", "instrument_id": "I", "routed_from": "bracket", "parameters": {"parts": {
        "root": {"part": "sequence", "state": "working"},
        "root.first": {"part": "order", "state": "completed", "transaction_type": "BUY"},
        "root.each_fill.children.0": {"part": "order", "state": "working", "transaction_type": "SELL"},
        "root.each_fill.children.1": {"part": "order", "state": "held", "transaction_type": "SELL"},
    }},
    "legs": [
        {"part": "root.first", "transaction_type": "BUY", "filled_quantity": 50, "pending_quantity": 0},
        {"part": "root.each_fill.children.0", "transaction_type": "SELL", "filled_quantity": 0, "pending_quantity": 50},
    ],
}  # fmt: skip
STAYS = "This SELL SL order guards or closes 50 units of INFY at zerodha: they stay open without it."


@pytest.mark.parametrize(
    ("row", "positions", "parent", "sentence"),
    [
        (ROW, HELD, None, STAYS),
        (ROW, None, BRACKET, STAYS),
        (ROW, [], BRACKET, STAYS),
        ({**ROW, "pending_quantity": 20}, HELD, None, STAYS.replace("50", "20")),
        ({**ROW, "transaction_type": "BUY"}, HELD, None, None),
        ({**ROW, "product": "CNC"}, HELD, None, None),
        ({**ROW, "broker": "fyers"}, HELD, None, None),
        (ROW, [], None, None),
        (ROW, [], {**BRACKET, "routed_from": "trailing_stop", "legs": []}, STAYS.replace("50 units of ", "")),
    ],
)
def test_the_cancel_of_what_guards_open_units_is_asked_about(run, row, positions, parent, sentence):
    assert run("exits", "whyAsk", row, positions, parent) == sentence


def test_so_is_that_of_a_part_or_of_the_whole_order(tmp_path, run):
    script = (
        "import { whyAskParent } from './exits.mjs';"
        f"const parent = {msgspec.json.encode(BRACKET).decode()};"
        "const entry = { ...parent, legs: [{ ...parent.legs[0], filled_quantity: 0, pending_quantity: 50 }] };"
        "const name = () => 'INFY';"
        "console.log(JSON.stringify([whyAskParent(parent, 'root.each_fill.children.0', name), whyAskParent(parent, undefined, name),"
        " whyAskParent(parent, 'root.first', name), whyAskParent(entry, undefined, name)]))"
    )
    (tmp_path / "main.mjs").write_text(script)
    told = subprocess.run([NODE, "main.mjs"], cwd=tmp_path, capture_output=True, check=True, timeout=60)
    stays = "This guards or closes 50 units of INFY: they stay open without it."
    assert msgspec.json.decode(told.stdout) == [stays, stays, None, None]
