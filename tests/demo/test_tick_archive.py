"""The whole service with its archive of ticks in an object store, at a real one: what is loaded is there, a store that is away or hangs harms no order."""

import json
import subprocess
import sys
from datetime import date

import polars as pl
import pytest

from tests.demo.by_url import ServiceByUrl, simulator
from tests.demo.conftest import STOP_SECONDS, until
from tests.support.object_server import BUCKET, SECRET

pytestmark = pytest.mark.long

PLACE = f"s3://{BUCKET}/demo"
DAYS = [date(2026, 9, day) for day in (8, 9, 10)]
TICKS = 50


@pytest.fixture(scope="module")
def running(tmp_path_factory, object_server):
    folder = tmp_path_factory.mktemp("archive")
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o600)
    more = f"""
[history]
tick_archive = "{PLACE}"
[object_store]
endpoint = "{object_server.endpoint}"
region = "ap-south-1"
access_key_id = "writer"
secret_access_key_file = "{folder / "secret"}"
"""
    with simulator(folder / "simulator") as simulated:
        service = ServiceByUrl(folder / "data", simulated, None, more)
        try:
            service.start().until_ready()
            yield service
        finally:
            service.clean_up()


def onebroker(service, *arguments):
    """Run a command of the service's settings; return its exit code and what it said."""
    command = [sys.executable, "-m", "onebroker.http", *arguments, "--config", str(service.config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STOP_SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr


def load(service, day, minute):
    """Load ticks of a day, a second apart, from a minute of its tenth hour on."""
    share = service.share(0)
    rows = [
        f"{share['exchange']},{share['segment']},{share['symbol']},{day}T10:{minute:02}:{second:02},{100 + second / 20},dhan"
        for second in range(TICKS)
    ]
    file = service.data_dir.with_name("ticks.csv")
    file.write_text("\n".join(["exchange,segment,symbol,time,last_price,broker", *rows]))
    code, said, error = onebroker(service, "history", "load", str(file))
    assert code == 0, said + error


def archive(service):
    return service.read("/api/health")["history"]["tick_archive"]


def problems(service):
    return [problem for problem in service.read("/api/health")["problems"] if problem["kind"] == "archive"]


def archived(service):
    code, said, error = onebroker(service, "history", "archive", "--json")
    assert code == 0, error
    return {day["day"]: day["ticks"] for day in json.loads(said)["days"]}


def test_days_that_are_loaded_are_in_the_object_store(running):
    for number, day in enumerate(DAYS[:2]):
        load(running, day, number)
    until(
        lambda: archive(running)["last_day"] == str(DAYS[1]), lambda: f"the archive to be written: {archive(running)}"
    )
    shown = archive(running)
    assert (shown["place"], shown["waiting_days"], shown["trouble"]) == (PLACE, 0, None)
    assert archived(running) == {str(day): TICKS for day in DAYS[:2]}
    metrics = running.ask("GET", "/metrics").body.decode()
    assert "onebroker_tick_archive_waiting_days 0.0" in metrics


def test_a_file_comes_back_to_this_machine(running, tmp_path):
    fetched = tmp_path / "fetched.parquet"
    code, said, _ = onebroker(running, "history", "archive", "--fetch", str(DAYS[0]), "--to", str(fetched))
    assert (code, said) == (0, f"{fetched}: {TICKS} ticks of {DAYS[0]}\n")
    assert pl.read_parquet(fetched).height == TICKS
    code, said, error = onebroker(running, "history", "load", str(fetched))
    assert (code, "50 equal" in said) == (0, True), said + error
    code, _, error = onebroker(running, "history", "archive", "--fetch", "2020-01-02", "--to", str(tmp_path / "none"))
    assert (code, error.strip()) == (1, "the archive has no file of 2020-01-02")


def test_while_the_object_store_is_away_it_is_a_problem_and_orders_go_on(running, object_server):
    object_server.stop()
    load(running, DAYS[2], 0)
    (told,) = until(lambda: problems(running), "the problem to show")
    assert "Connection refused" in told["what"]
    placed = running.place(**running.limit_buy(running.share(1), -3)).json
    running.until_status(placed["order_id"], "OPEN")
    code, _, error = onebroker(running, "history", "archive")
    assert (code, error.strip()) == (4, f"{PLACE}: Connection refused")
    object_server.start()
    load(running, DAYS[2], 1)
    until(lambda: not problems(running), "the problem to be over")
    assert archived(running) == {str(DAYS[0]): TICKS, str(DAYS[1]): TICKS, str(DAYS[2]): 2 * TICKS}


def test_a_stop_does_not_wait_for_an_object_store_that_hangs(running, object_server):
    with object_server.hanging():
        load(running, DAYS[2], 2)
        assert running.end() == 0
    running.start().until_ready()
    load(running, DAYS[2], 3)
    until(lambda: archived(running)[str(DAYS[2])] == 4 * TICKS, "the archive to catch up")
    assert SECRET not in running.log.read_text()
    running.assert_sent_once()
