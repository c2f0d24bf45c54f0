"""The demo's past: loaded once, in the background, after a kill too; served by the history routes and by every broker alike."""

import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import msgspec
import polars as pl
import pytest

from onebroker.brokers.simulator.__main__ import calendar_of_hours
from onebroker.brokers.simulator.world.past import DELISTED_SYMBOL
from onebroker.brokers.simulator.world.past_files import Recipe, write_past
from onebroker.config.calendars import JoinedCalendar, always_open

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]  # two loads, one of them cut in half
NUMBER = 60
LOAD_SECONDS = 240.0
"""A few seconds of one core at the lowest priority: a busy machine may give it none for long."""
MOST_DEMOS = 4
"""Until one is killed in time: whoever looks may be held up longer than the load takes."""
SUNDAY = "2026-11-22T16:00:00+05:30"
FIRST = date(2026, 11, 22)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What one clean load has, made here."""
    calendar = JoinedCalendar(calendar_of_hours("always", None), FIRST, always_open())
    recipe = Recipe(number=NUMBER, seed=1, first_day=FIRST, calendar=calendar)
    return write_past(recipe, tmp_path_factory.mktemp("past"))


@pytest.fixture(scope="module")
def demo(new_demo):
    """A demo that was killed in the middle of its first load, after the first rows were in, and started again."""
    for _ in range(MOST_DEMOS):
        killed = new_demo("--instruments", str(NUMBER), "--now", SUNDAY, past=True).start()
        killed.until(lambda demo=killed: loading(demo) or loaded(demo), "the first load to be under way", LOAD_SECONDS)
        killed.kill()
        killed.until(
            lambda demo=killed: not demo.processes("demo_past_load"), "the loading process to end with the demo"
        )
        if not loaded(killed):
            break
    assert not loaded(killed), "killed too late"
    killed.start()
    killed.until(lambda: loaded(killed), "the past to be loaded", LOAD_SECONDS)
    killed.until_ready()
    return killed


def loading(demo):
    """Whether some of the past is in the store and not all of it."""
    return any((demo.data_dir / "history" / "loads").glob("*.json"))


def loaded(demo):
    return (demo.data_dir / "past.json").exists()


def prices(demo, **query):
    return demo.read("/api/instruments/prices", **query)


def figures(row):
    """A candle's prices and volume. The daily load may have asked a broker that writes an index's volume as 0, or leaves the open
    interest out."""
    *four, volume, _ = row
    return (*four, volume or 0)


def expected(path, **identity):
    """The figures of a file's rows."""
    table = pl.read_parquet(path).filter(*(pl.col(name) == value for name, value in identity.items()))
    return [figures(row) for row in table.select("open", "high", "low", "close", "volume", "oi").rows()]


def ids(path):
    return pl.read_parquet(path)["instrument_id"].unique(maintain_order=True).to_list()


def test_all_of_it_is_there_after_a_kill_in_the_middle(demo, files):
    day = {"interval": "day", "adjusted": "false"}
    for instrument_id in ids(files.listed):
        for since in (FIRST - timedelta(days=730), FIRST - timedelta(days=365)):
            answer = prices(demo, instrument_id=instrument_id, **day, **{"from": since, "to": FIRST})
            assert answer["source"] in ("database", "cache")
            found = [figures(row[1:7]) for row in answer["candles"]]
            wanted = expected(files.listed, instrument_id=instrument_id)
            assert found == wanted[len(wanted) - len(found) :]
    minutes = {"interval": "1minute", "adjusted": "false", "from": FIRST - timedelta(days=31), "to": FIRST}
    for instrument_id in ids(files.minutes)[:5]:
        found = [figures(row[1:7]) for row in prices(demo, instrument_id=instrument_id, **minutes)["candles"]]
        assert found == expected(files.minutes, instrument_id=instrument_id)


def test_two_days_of_ticks_are_streamed(demo, files):
    for instrument_id in ids(files.ticks):
        period = {"start": FIRST - timedelta(days=4), "end": FIRST, "adjusted": "false"}
        found = demo.read("/api/instruments/ticks", instrument_id=instrument_id, **period)
        table = pl.read_parquet(files.ticks).filter(pl.col("instrument_id") == instrument_id)
        assert [row["last_price"] for row in found] == table["last_price"].to_list()


def test_what_is_no_longer_listed_is_found_by_its_identity(demo):
    share = prices(demo, exchange="nse", segment="equities", symbol=DELISTED_SYMBOL, interval="day",
                   **{"from": FIRST - timedelta(days=400), "to": FIRST - timedelta(days=200)})  # fmt: skip
    assert share["candles"][-1][0].startswith("2026-04-24")
    future = prices(demo, exchange="nse", segment="equity_index_futures", underlying_symbol="DESH",
                    expiry_date="2026-10-27", interval="day", days=90)  # fmt: skip
    assert future["candles"][-1][0].startswith("2026-10-27")
    assert demo.ask("GET", "/api/instruments/details", instrument_id=future["instrument_id"]).status == 404


def test_adjusted_series_are_continuous_where_raw_ones_jump(demo, files):
    split = pl.read_csv(files.factors).filter(pl.col("kind").is_in(["split", "bonus"]))
    assert split.height == 4
    for row in split.iter_rows(named=True):
        ex_date = date.fromisoformat(row["ex_date"])
        span = {"from": ex_date - timedelta(days=9), "to": ex_date, "interval": "day"}
        steps = {}
        for basis, adjusted in (("adjusted", "true"), ("unadjusted", "false")):
            candles = prices(demo, instrument_id=row["instrument_id"], adjusted=adjusted, **span)["candles"]
            steps[basis] = candles[-1][1] / candles[-2][4]
        assert steps["adjusted"] == pytest.approx(1.0, abs=0.1)
        assert steps["unadjusted"] == pytest.approx(row["price_factor"], rel=0.1)


def test_the_last_close_is_the_previous_close_of_the_running_market(demo, files):
    shares = {each["instrument_id"]: each for each in demo.control("GET", "/instruments?limit=500")}
    checked = 0
    for instrument_id in ids(files.listed):
        if shares[instrument_id]["segment"] == "nse_equities":
            last = prices(demo, instrument_id=instrument_id, interval="day", days=10)["candles"][-1]
            assert last[0].startswith("2026-11-20")
            quote = demo.read("/api/instruments/quote", instrument_id=instrument_id)
            assert quote["previous_close"] == last[4]
            checked += 1
    assert checked > 10


def test_the_self_check_finds_nothing_wrong(demo):
    command = [sys.executable, "-m", "onebroker.http", "history", "check", "--json", "--data-dir", str(demo.data_dir)]
    ended = subprocess.run(command, capture_output=True, timeout=120, check=False)
    found = msgspec.json.decode(ended.stdout)
    assert (ended.returncode, found["findings"]) == (0, 0), Path(found["file"]).read_text()[:2000]


def test_a_further_start_loads_nothing(demo):
    kept = demo.data_dir / "past.json"
    counts, written = msgspec.json.decode(kept.read_bytes()), os.stat(kept).st_mtime_ns
    said = demo.log.read_text()
    demo.end()
    demo.start()
    demo.until_ready()
    assert "past" not in demo.log.read_text().removeprefix(said)
    assert os.stat(kept).st_mtime_ns == written
    assert not (demo.data_dir / "past").exists()
    assert demo.processes("demo_past_load") == []
    assert (counts["factors"], counts["ticks"] > 50_000, counts["candles"] > 100_000) == (8, True, True)
