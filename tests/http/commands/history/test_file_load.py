"""`onebroker history load` and `factors load`: into the store without a service, through a running one, row by row, again and
again, two at once, and killed in the middle."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import polars as pl
import pytest
import trio

from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.config.instruments import future, security
from onebroker.http.__main__ import main
from onebroker.http.commands.exit_codes import CommandFailed
from onebroker.http.commands.history.store_access import OwnTaker
from onebroker.http.commands.history.text_tables import CHUNK_ROWS
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
SHARE = security("nse", "equities", "OLDCO")
GONE = future("nse", "equity_index_futures", "NIFTY", date(2024, 1, 25))
HEADER = "exchange,segment,symbol,interval,time,open,high,low,close,volume,oi"
ALL = (-(2**60), 2**60)
MINUTE = 60_000_000


def start(*arguments):
    return subprocess.Popen(
        [*ONEBROKER, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(*arguments):
    """Run the command here: a process of its own only where one is to be killed, or two are to meet."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = main([str(argument) for argument in arguments])
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=error.getvalue())


def load(data_dir, *arguments, kind="history"):
    done = run(kind, "load", "--data-dir", data_dir, "--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def stored(data_dir, identity=SHARE, minutes=1440):
    async def read():
        store = DuckHistory(data_dir / "history" / "history.duckdb", memory_limit="256MB")
        try:
            return await store.candles(identity.instrument_id, minutes, *ALL)
        finally:
            await store.close()

    return trio.run(read)


def stored_ticks(data_dir, identity=SHARE):
    async def read():
        store = DuckHistory(data_dir / "history" / "history.duckdb", memory_limit="256MB")
        try:
            return pl.concat([frame async for frame in store.ticks(identity.instrument_id, *ALL)])
        finally:
            await store.close()

    return trio.run(read)


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def csv(tmp_path):
    def write(*lines, name="candles.csv", header=HEADER):
        path = tmp_path / name
        path.write_text("\n".join([header, *lines, ""]))
        return path

    return write


def line(day, close=100.0, symbol="oldco", **given):
    fields = {"interval": "day", "open": close, "high": close, "low": close, "close": close, "volume": 10} | given
    return f"nse,equities,{symbol},{fields['interval']},{day},{fields['open']},{fields['high']},{fields['low']},{fields['close']},{fields['volume']},"


def test_candles_of_a_csv_file_are_loaded_and_the_same_file_again_changes_nothing(data_dir, csv):
    path = csv(line("2024-01-01"), line("2024-01-02", 101.5))
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["added"], said["refused"], said["report"]) == (0, 2, 0, None)
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["added"], said["equal"], said["rows"]) == (0, 0, 2, 2)
    found = stored(data_dir)
    assert found["close"].to_list() == [100.0, 101.5]
    assert found["time"].to_list() == [day_start(date(2024, 1, 1)), day_start(date(2024, 1, 2))]
    code, (said,) = load(data_dir, csv(line("2024-01-02", 102.0), name="new.csv"))
    assert (said["replaced"], stored(data_dir)["close"].to_list()) == (1, [100.0, 102.0])


def test_bad_rows_are_reported_with_their_line_and_stop_no_good_one(data_dir, csv):
    path = csv(
        line("2024-01-01"), line("yesterday"), "nse,equities,OLDCO,day", line("2024-01-02", symbol=""),
        line("2024-01-03", high=1), "", line("2024-01-04"),
    )  # fmt: skip
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["added"], said["refused"]) == (1, 2, 4)
    report = pl.read_csv(said["report"])
    assert dict(report.iter_rows()) == {
        3: "time must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00",
        4: "the row has another number of fields than the header",
        5: "a security segment needs symbol",
        6: "high must not be below open, low or close",
    }
    done = run("history", "load", "--data-dir", data_dir, path)
    assert done.returncode == 1
    assert "6 rows of candles: 0 added, 0 replaced, 2 equal, 4 refused" in done.stdout
    assert "1 × a security segment needs symbol" in done.stdout


def test_rows_that_cannot_be_are_refused_by_the_calendar_of_the_instrument(data_dir, csv):
    path = csv(
        line("2026-11-15"), line("2026-11-16", 0.0), line("2999-01-01"), line("2026-11-17 10:00", interval="60minute"),
        line("2026-11-17"), line("2026-11-17 09:15", interval="60minute"),
    )  # fmt: skip
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["added"], pl.read_csv(said["report"])["row"].to_list()) == (1, 2, [2, 3, 4, 5])
    header = "exchange,segment,underlying_symbol,expiry_date,interval,time,open,high,low,close"
    crude = "mcx,commodity_futures,CRUDEOIL,2020-04-20,day,2020-04-20,10,12,-37.63,-2.5"
    code, (said,) = load(data_dir, csv(crude, name="crude.csv", header=header), "--create")
    assert (code, said["added"]) == (0, 1)


def test_an_unknown_instrument_is_refused_unless_it_is_to_be_created(data_dir, csv):
    code, (said,) = load(data_dir, csv(line("2024-01-01")))
    assert (code, said["added"]) == (1, 0)
    assert said["reasons"] == {"the instrument is not known; --create enters it in the instrument history": 1}
    by_id = csv(
        f"{SHARE.instrument_id},day,2024-01-01,1,1,1,1",
        name="id.csv",
        header="instrument_id,interval,time,open,high,low,close",
    )
    _, (said,) = load(data_dir, by_id, "--create")
    assert list(said["reasons"]) == ["the instrument is not known, and instrument_id alone does not say what to create"]
    load(data_dir, csv(line("2024-01-01")), "--create")
    _, (said,) = load(data_dir, by_id)
    assert (said["added"], said["replaced"]) == (0, 1), "now it is known"


def test_a_file_of_archived_ticks_is_taken_back_with_all_that_it_has(data_dir, csv, tmp_path):
    levels = '"{""buy"": [{""price"": 99.95, ""quantity"": 10, ""orders"": 2}], ""sell"": [{""price"": 100.1, ""quantity"": 5, ""orders"": 1}]}"'
    ticks = csv(
        f"nse,equities,OLDCO,2024-01-01T10:00:00.123456,dhan,100.05,99.3333333,1000,{levels}",
        'nse,equities,OLDCO,2024-01-01T10:00:00.123456,dhan,100.1,,1001,"{""buy"": [], ""sell"": []}"',
        "nse,equities,OLDCO,2024-01-01T10:00:00.123456,zerodha,100.1,,,",
        "nse,equities,OLDCO,2024-01-01T15:29:59,dhan,0.05,,,",
        name="ticks.csv",
        header="exchange,segment,symbol,time,broker,last_price,average_price,volume,depth",
    )
    assert load(data_dir, ticks, "--create")[0] == 0

    async def archive():
        store = DuckHistory(data_dir / "history" / "history.duckdb", memory_limit="256MB")
        try:
            await store.copy_ticks(*ALL, tmp_path / "ticks.parquet")
            assert await store.drop_ticks(ALL[1]) == 4
        finally:
            await store.close()

    assert [mark.name for mark in (data_dir / "history" / "archive-again").iterdir()] == ["2024-01-01"]
    before = stored_ticks(data_dir)
    trio.run(archive)
    code, (said,) = load(data_dir, tmp_path / "ticks.parquet")
    assert (code, said["added"]) == (0, 4)
    assert stored_ticks(data_dir).equals(before)


def test_parquet_files_may_have_real_times_and_figures(data_dir, tmp_path):
    path = tmp_path / "candles.parquet"
    pl.DataFrame({
        "exchange": ["nse"] * 2, "segment": ["nse_equity_index_futures"] * 2, "underlying_symbol": ["NIFTY"] * 2,
        "expiry_date": [date(2024, 1, 25)] * 2, "interval": ["1minute"] * 2,
        "time": pl.Series(["2024-01-01 09:15", "2024-01-01 09:16"]).str.to_datetime(),
        "open": [1.0, 2.0], "high": [1.5, 2.5], "low": [1.0, 2.0], "close": [1.25, 2.25], "volume": [5.0, None],
        "oi": [10, 11],
    }).write_parquet(path)  # fmt: skip
    _, (said,) = load(data_dir, path, "--create")
    assert said["added"] == 2, said
    found = stored(data_dir, GONE, 1)
    first = day_start(date(2024, 1, 1)) + (9 * 60 + 15) * MINUTE
    assert found.rows() == [(first, 1.0, 1.5, 1.0, 1.25, 5, 10), (first + MINUTE, 2.0, 2.5, 2.0, 2.25, None, 11)]


def test_ticks_are_loaded_with_their_depth(data_dir, csv):
    header = "exchange,segment,symbol,time,broker,last_price,volume,depth"
    depth = '"{""buy"":[{""price"":10,""quantity"":5,""orders"":1}],""sell"":[]}"'
    path = csv(f"nse,equities,OLDCO,2024-01-01 09:15:00.25,zerodha,10.5,7,{depth}",
               "nse,equities,OLDCO,2024-01-01 09:15:01,nobody,10.5,7,", name="ticks.csv", header=header)  # fmt: skip
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["kind"], said["added"], said["reasons"]) == (1, "ticks", 1, {"broker must be a broker code": 1})
    found = stored_ticks(data_dir)
    assert found["buy"].to_list() == [[{"price": 10.0, "quantity": 5, "orders": 1}]]
    assert found["time"].to_list() == [day_start(date(2024, 1, 1)) + (9 * 60 + 15) * MINUTE + 250_000]


TICK_HEADER = "exchange,segment,symbol,time,broker,last_price"


def tick_lines(*ticks):
    return [f"nse,equities,OLDCO,2024-01-01 09:15:{second:02},{broker},{price}" for second, broker, price in ticks]


def test_all_ticks_of_one_second_are_kept_and_the_same_file_again_changes_nothing(data_dir, csv):
    ticks = [(0, "zerodha", 10.0), (0, "dhan", 10.1), (0, "zerodha", 10.2), (0, "zerodha", 10.2), (1, "zerodha", 10.3)]
    path = csv(*tick_lines(*ticks), name="ticks.csv", header=TICK_HEADER)
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["added"], said["replaced"], said["overwriting"]) == (0, 5, 0, 0)
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["added"], said["equal"]) == (0, 0, 5)
    assert stored_ticks(data_dir).select("broker", "last_price").rows() == [
        ("dhan", 10.1), ("zerodha", 10.0), ("zerodha", 10.2), ("zerodha", 10.2), ("zerodha", 10.3),
    ]  # fmt: skip


def test_ticks_of_one_second_are_kept_when_a_chunk_ends_between_them(data_dir, csv, monkeypatch):
    monkeypatch.setattr("onebroker.http.commands.history.text_tables.CHUNK_ROWS", 2)
    path = csv(
        *tick_lines(*((0, "zerodha", 10.0 + number) for number in range(5))), name="ticks.csv", header=TICK_HEADER
    )
    for equal in (0, 5):
        code, (said,) = load(data_dir, path, "--create")
        assert (code, said["rows"], said["equal"], said["replaced"]) == (0, 5, equal, 0)
    assert stored_ticks(data_dir)["last_price"].to_list() == [10.0, 11.0, 12.0, 13.0, 14.0]


def broken_off(monkeypatch, data_dir, path, kind):
    """Load a file and end it after two chunks were taken in."""
    take, taken = OwnTaker.take, []

    async def fails_later(self, kind, file):
        taken.append(file)
        if len(taken) > 2:
            raise CommandFailed("gone", 4)
        return await take(self, kind, file)

    monkeypatch.setattr(OwnTaker, "take", fails_later)
    assert run(kind, "load", "--data-dir", data_dir, path, "--create").returncode == 4
    monkeypatch.setattr(OwnTaker, "take", take)


def test_a_load_that_goes_on_knows_what_the_chunks_before_held(data_dir, csv, monkeypatch):
    monkeypatch.setattr("onebroker.http.commands.history.text_tables.CHUNK_ROWS", 2)
    ticks = csv(
        *tick_lines(*((0, "zerodha", 10.0 + number) for number in range(6))), name="ticks.csv", header=TICK_HEADER
    )
    broken_off(monkeypatch, data_dir, ticks, "history")
    code, (said,) = load(data_dir, ticks, "--create")
    assert (code, said["rows"], said["added"], said["replaced"]) == (0, 6, 6, 0)
    assert stored_ticks(data_dir)["last_price"].to_list() == [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]
    days = csv(*(line(f"2024-01-0{day}") for day in (1, 2, 3, 4)), line("2024-01-01", 101.0), line("2024-01-05"))
    broken_off(monkeypatch, data_dir, days, "history")
    code, (said,) = load(data_dir, days, "--create")
    assert (code, said["added"], said["overwriting"]) == (1, 5, 1)
    assert pl.read_csv(said["report"])["row"].to_list() == [6]
    split = "nse,equities,OLDCO,2024-06-0{},split,{},5,x"
    twice = factors(csv, *(split.format(day, 0.2) for day in (1, 2, 3, 4)), split.format(1, 0.5), split.format(5, 0.2))
    broken_off(monkeypatch, data_dir, twice, "factors")
    code, (said,) = load(data_dir, twice, "--create", kind="factors")
    assert (code, said["added"], said["refused"]) == (1, 5, 1)


@pytest.mark.parametrize("chunk_rows", [2, CHUNK_ROWS])
def test_rows_that_overwrite_others_of_their_file_are_told(data_dir, csv, monkeypatch, chunk_rows):
    monkeypatch.setattr("onebroker.http.commands.history.text_tables.CHUNK_ROWS", chunk_rows)
    path = csv(
        line("2024-01-01"), line("2024-01-02"), line("2024-01-01", 101.0), line("2024-01-02"), line("2024-01-01", 101.0),
        line("2024-01-01", 102.0),
    )  # fmt: skip
    for added in (2, 0):
        code, (said,) = load(data_dir, path, "--create")
        assert (code, said["added"], said["overwriting"], said["refused"]) == (1, added, 2, 0)
        assert pl.read_csv(said["report"])["row"].to_list() == [4, 7]
        assert stored(data_dir)["close"].to_list() == [102.0, 100.0]
    done = run("history", "load", "--data-dir", data_dir, path)
    assert "2 overwrote other rows of the file" in done.stdout


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("instrument_id,time,price", "holds neither candles (interval, time, open, high, low, close) nor ticks"),
        ("instrument_id,interval,time,open", "has no column high, low, close"),
        ("time,broker,last_price", "names no instruments"),
        ("instrument_id,time,time,broker,last_price", "the column time is there twice"),
    ],
)
def test_a_file_that_holds_something_else_is_wrong_use(data_dir, csv, header, sentence):
    done = run("history", "load", "--data-dir", data_dir, csv(header=header))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not (data_dir / "history").exists()


def test_a_missing_file_is_wrong_use_and_a_data_directory_held_by_somebody_else_is_busy(data_dir, csv, tmp_path):
    assert run("history", "load", "--data-dir", data_dir, tmp_path / "absent.csv").returncode == 2
    with DataDirectory(data_dir):
        done = run("history", "load", "--data-dir", data_dir, csv(line("2024-01-01")))
    assert done.returncode == 3
    assert "is in use by process" in done.stderr


def minutes(count, first=0):
    when = (pl.datetime(2020, 1, 1) + pl.duration(minutes=pl.int_range(first, first + count))).alias("time")
    return pl.select(
        pl.lit("nse").alias("exchange"), pl.lit("equities").alias("segment"), pl.lit("OLDCO").alias("symbol"),
        pl.lit("1minute").alias("interval"), when.dt.strftime("%Y-%m-%d %H:%M:%S"),
        *((pl.int_range(first, first + count) + 1.0).alias(name) for name in ("open", "high", "low", "close")),
    )  # fmt: skip


def chunks_kept(kept):
    try:
        return max((json.loads(one.read_bytes())["chunks"] for one in kept.glob("*.json")), default=0)
    except FileNotFoundError:  # done, and taken away between two looks
        return 0


def kill_in_the_middle(data_dir, path):
    """Load a file of five chunks and kill it when it has two, three or four; one that came further while nobody looked begins anew."""
    kept = data_dir / "history" / "loads"
    while True:
        process = start("history", "load", "--data-dir", data_dir, path, "--create")
        while process.poll() is None and chunks_kept(kept) < 2:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        said = process.communicate()
        assert process.returncode in (1, -signal.SIGKILL), said  # 1: all of it came, and some rows were refused
        if 2 <= chunks_kept(kept) < 5:
            return
        shutil.rmtree(data_dir)


@pytest.mark.long
def test_a_load_that_was_killed_goes_on_where_it_stopped(data_dir, tmp_path):
    path, rows = tmp_path / "big.csv", 5 * CHUNK_ROWS
    table = minutes(rows).with_columns(
        pl.when(pl.int_range(0, rows) % 25_000 == 3).then(pl.lit("x")).otherwise("close").alias("close")
    )
    table.write_csv(path)
    kill_in_the_middle(data_dir, path)
    code, (said,) = load(data_dir, path, "--create")
    assert (code, said["rows"], said["refused"]) == (1, rows, 10)
    assert said["added"] + said["equal"] == rows - 10
    assert pl.read_csv(said["report"])["row"].to_list() == [2 + 3 + 25_000 * part for part in range(10)]
    assert stored(data_dir, minutes=1).height == rows - 10
    assert not list((data_dir / "history" / "loads").glob("*.json"))
    assert not list((data_dir / "history" / "incoming").iterdir())


def test_the_chunk_that_a_killed_load_left_behind_goes_with_the_next_load_of_its_file(data_dir, tmp_path):
    path = tmp_path / "small.csv"
    minutes(3).write_csv(path)
    load(data_dir, path, "--create")
    (lock,) = (data_dir / "history" / "loads").glob("*.lock")
    ended = subprocess.Popen(["true"])
    ended.wait()
    incoming = data_dir / "history" / "incoming"
    kept = {f"{lock.stem}-{os.getppid()}", f"{lock.stem}-copy", "anothers-1"}
    for name in (f"{lock.stem}-{ended.pid}", *kept):
        (incoming / name).write_bytes(b"half")
    load(data_dir, path, "--create")
    assert {file.name for file in incoming.iterdir()} == kept


# Through a running service


@contextmanager
def service(data_dir):
    """A service without brokers; what reads a path of it."""
    environ = os.environ | {"ONEBROKER_SERVICE_API_KEY": "k", "ONEBROKER_SERVICE_API_SECRET": "a secret for tests",
                            "ONEBROKER_SERVICE_DATA_DIR": str(data_dir), "ONEBROKER_SERVICE_PORT": "0"}  # fmt: skip
    process = subprocess.Popen([*ONEBROKER, "serve"], stdout=subprocess.PIPE, text=True, env=environ)
    try:
        said = process.stdout.readline()
        assert "is running" in said
        yield said.split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        process.stdout.close()


@pytest.mark.long
def test_a_running_service_takes_files_in_also_of_two_loaders_at_once(data_dir, tmp_path):
    path = tmp_path / "big.csv"
    rows = CHUNK_ROWS + 5_000
    minutes(rows).write_csv(path)
    other = tmp_path / "other.csv"
    minutes(5_000, first=rows - 4_900).write_csv(other)
    with service(data_dir):
        loaders = [
            start("history", "load", "--data-dir", data_dir, one, "--create", "--json") for one in (path, path, other)
        ]
        said = []
        for loader in loaders:
            out, error = loader.communicate(timeout=PATIENCE_SECONDS)
            assert loader.returncode == 0, error
            said += json.loads(out)
    assert sum(one["added"] for one in said) == rows + 100
    assert sum(one["replaced"] for one in said) == 0
    found = stored(data_dir, minutes=1)
    assert found["close"].to_list() == [number + 1.0 for number in range(rows + 100)]


def factors(csv, *lines):
    return csv(
        *lines, name="factors.csv", header="exchange,segment,symbol,ex_date,kind,price_factor,volume_factor,source"
    )


def test_factors_are_loaded_checked_and_replaced(data_dir, csv):
    path = factors(
        csv, "nse,equities,OLDCO,2024-06-03,split,0.2,5,exchange", "nse,equities,OLDCO,2024-07-01,dividend,0.985,1,exchange",
        "nse,equities,OLDCO,2024-06-03,split,0.2,5,exchange", "nse,equities,OLDCO,2024-06-03,split,0.5,5,exchange",
        "nse,equities,OLDCO,03-06-2024,split,0.2,5,x", "nse,equities,OLDCO,2024-06-03,merger,0.2,5,x",
        "nse,equities,OLDCO,2024-06-03,bonus,0,5,x", "nse,equities,OLDCO,2024-06-03,bonus,1,nan,x",
        "nse,equities,OLDCO,2024-06-03,bonus,1,1,",
    )  # fmt: skip
    code, (said,) = load(data_dir, path, "--create", kind="factors")
    assert (code, said["added"], said["equal"], said["refused"]) == (1, 2, 1, 6)
    assert dict(pl.read_csv(said["report"]).iter_rows()) == {
        5: "an earlier row gives another factor of this kind for this instrument and ex_date; give their product",
        6: "ex_date must be a date in YYYY-MM-DD format",
        7: "kind must be one of split, bonus, dividend, rights, other",
        8: "price_factor must be a number above 0",
        9: "volume_factor must be a number above 0",
        10: "source is required",
    }
    held = trio.run(SqliteDurable(data_dir / "durable.sqlite").factors, SHARE.instrument_id)
    assert [(one.kind, one.price_factor) for one in held] == [("split", Decimal("0.2")), ("dividend", Decimal("0.985"))]
    code, (said,) = load(data_dir, factors(csv, "nse,equities,OLDCO,2024-06-03,split,0.1,10,corrected"), kind="factors")
    assert (code, said["replaced"]) == (0, 1)


WRITTEN = [
    "0.3333333333333333",
    "0.007693201474386901",
    "0.123456789012345678901234567890",
    "7.5e-1",
    "5E+2",
    ".5",
    "2.",
    "1e-05",
]


def test_factors_are_taken_as_programs_write_them(data_dir, csv):
    days = [date(2024, 1, number + 1) for number in range(len(WRITTEN))]
    wrong = ["1e-999", "1e999", "0e5", "0.0", "-1", "1_000", "1e", ".", "0x1p-2", "1,5"]
    rows = [f"nse,equities,OLDCO,{day},split,{text},{text},x" for day, text in zip(days, WRITTEN, strict=True)]
    path = factors(csv, *rows, *(f"nse,equities,OLDCO,2024-02-01,split,{text.replace(',', ';')},1,x" for text in wrong))
    code, (said,) = load(data_dir, path, "--create", kind="factors")
    assert (code, said["added"], said["reasons"]) == (1, 8, {"price_factor must be a number above 0": len(wrong)})
    held = trio.run(SqliteDurable(data_dir / "durable.sqlite").factors, SHARE.instrument_id)
    assert [(one.ex_date, one.price_factor, one.volume_factor) for one in held] == [
        (day, Decimal(text), Decimal(text)) for day, text in zip(days, WRITTEN, strict=True)
    ]
    code, (said,) = load(data_dir, path, kind="factors")
    assert said["equal"] == 8


def test_factors_that_a_running_service_takes_in_are_kept_by_it(data_dir, csv):
    with service(data_dir):
        code, (said,) = load(
            data_dir, factors(csv, "nse,equities,OLDCO,2024-06-03,split,0.2,5,x"), "--create", kind="factors"
        )
    assert (code, said["added"]) == (0, 1)
    assert len(trio.run(SqliteDurable(data_dir / "durable.sqlite").factors, None)) == 1


def test_the_check_lists_what_looks_wrong_with_and_without_a_service(data_dir, csv):
    whole = [line(f"2024-01-{number:02}", symbol=symbol) for symbol in ("oldco", "other") for number in range(1, 9)]
    broken = [line(f"2024-01-{number:02}", 100.0 if number < 5 else 10.0, "third") for number in (1, 2, 4, 5, 8)]
    load(data_dir, csv(*whole, *broken), "--create")
    wanted = [
        ("gap", "2024-01-03", "no candle on 2024-01-03"), ("gap", "2024-01-06", "no candle on 2024-01-06 to 2024-01-07"),
        ("jump", "2024-01-05", "opened -90.0% from the close before, with all factors applied"),
    ]  # fmt: skip
    alone = run("history", "check", "--data-dir", data_dir, "--json")
    assert (alone.returncode, json.loads(alone.stdout)["findings"]) == (1, 3), alone.stderr
    with service(data_dir):
        done = run("history", "check", "--data-dir", data_dir)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("3 findings: ")
    assert "THIRD  day  gap  2024-01-03  no candle on 2024-01-03" in done.stdout
    found = pl.read_csv(json.loads(alone.stdout)["file"], infer_schema=False)
    assert sorted(found.select("kind", "day", "detail").rows()) == sorted(wanted)
    assert set(found["name"]) == {"nse nse_equities security THIRD"}
