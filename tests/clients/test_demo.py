"""Both clients with a running demo: an order's life, an answer that is lost, and a stream that is cut every two seconds. Judged by the exchange's
ledger and by a stream that nobody cuts."""

import os
import re
import subprocess
import threading
import time
from pathlib import Path

import msgspec
import pytest

from tests.clients.cutting_proxy import CuttingProxy
from tests.demo.conftest import KEY, SECRET, demo, new_demo  # noqa: F401 — fixtures

pytestmark = [pytest.mark.long, pytest.mark.sdk]

PAGE = Path(__file__).resolve().parents[2] / "clients" / "python" / "README.md"
KINDS = ("sync", "asyncio", "trio")
OPTIONS = {"api_key": KEY, "api_secret": SECRET}
FOLLOWED_SECONDS = 30.0
CUT_SECONDS = 2.0
ORDER_SECONDS = 1.0


@pytest.fixture(scope="module")
def share(demo):  # noqa: F811 — the fixture
    return demo.share()


def url(demo):  # noqa: F811
    return f"http://127.0.0.1:{demo.port}"


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_is_placed_changed_and_cancelled(kind, demo, share, drive):  # noqa: F811
    since = len(demo.ledger()["messages"])
    order = demo.limit_buy(share)
    steps = drive(kind, "order", url(demo), options={**OPTIONS, "decimals": True}, order=order)
    assert steps["placed"][0] == steps["changed"] == steps["cancelled"] == "accepted"
    status, price, offset = steps["open"]
    assert (status, float(price), offset) == ("OPEN", order["price"], "5:30:00")
    assert steps["ended"] == 2
    assert steps["again"][:2] == ["Conflict", 409]
    assert steps["wrong"][:2] == ["BadRequest", 400]
    assert (steps["listed"], steps["health"]) == ([200], True)
    assert len([message for message in demo.ledger()["messages"][since:] if message["verb"] == "place"]) == 2
    demo.assert_sent_once()


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_whose_answer_is_lost_is_sent_once_and_settled(kind, demo, share, drive):  # noqa: F811
    before = len(demo.placed())
    with CuttingProxy(demo.port) as proxy:
        proxy.lose("POST /api/orders/place")
        steps = drive(kind, "lost", proxy.url, options=OPTIONS, order=demo.limit_buy(share))
        assert proxy.lost == 1
    assert steps == {"unknown": [None, None, 20], "settled": ["accepted", True]}
    assert len(demo.placed()) == before + 1
    demo.assert_sent_once()


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_whose_outcome_the_service_does_not_know_is_settled_by_its_parent(kind, demo, share, drive):  # noqa: F811
    since = demo.ledger()["next"]
    demo.fault("zerodha", "drop_after_accept", count=1)
    order = demo.limit_buy(share, -3, broker="zerodha", tag="callersOwn")
    steps = drive(kind, "lost", url(demo), options=OPTIONS, order=order)
    intent, status, own_tag = steps["unknown"]
    assert (len(intent), status, own_tag) == (36, 504, 0)
    assert steps["settled"] == ["accepted", True]
    (message,) = demo.placed(since)
    assert message["delivered"] is False
    demo.assert_sent_once()


def test_streams_that_are_cut_every_two_seconds_give_the_events_of_one_that_is_not(demo, share, start, finish):  # noqa: F811
    line = {"options": OPTIONS, "last": "theLast"}
    with CuttingProxy(demo.port) as proxy:
        whole = start("sync", "follow", url(demo), **line)
        cut = [start(kind, "follow", proxy.url, **line) for kind in KINDS]
        for process in (whole, *cut):
            assert msgspec.json.decode(process.stdout.readline())["step"] == "ready"
        stop = threading.Event()
        cutting = threading.Thread(target=_cut, args=(proxy, stop))
        cutting.start()
        try:
            _trade(demo, share)
            told = [finish(process) for process in (whole, *cut)]
        finally:
            stop.set()
            cutting.join()
        assert proxy.cuts >= 3 * FOLLOWED_SECONDS / CUT_SECONDS / 2
    assert len(told[0]["lives"]) >= FOLLOWED_SECONDS / ORDER_SECONDS / 2
    for steps in told[1:]:
        assert steps["gaps"] == 0
        assert steps["lives"] == told[0]["lives"]


def test_the_programs_of_the_page_run(demo, share, python, tmp_path):  # noqa: F811
    sync, later = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)[:2]
    said = []
    for program in (sync, later):
        assert "http://127.0.0.1:8000" in program
        own = program.replace("http://127.0.0.1:8000", url(demo)).replace("INFY", share["symbol"])
        script = tmp_path / "program.py"
        script.write_text(own)
        environment = {**os.environ, "PYTHONPATH": str(PAGE.parent / "src")}
        done = subprocess.run([python, script], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        said += done.stdout.splitlines()
    assert said[0].startswith("FundsSummary(")
    assert (said[1], said[2][0], len(said)) == ("accepted accepted", "[", 3)


def _cut(proxy, stop):
    while not stop.wait(CUT_SECONDS):
        proxy.cut()


def _trade(demo, share):  # noqa: F811
    """Place and cancel orders for a while, then one by which the clients know the end."""
    end = time.monotonic() + FOLLOWED_SECONDS
    while time.monotonic() < end:
        _place_and_cancel(demo, share)
        time.sleep(ORDER_SECONDS)
    _place_and_cancel(demo, share, tag="theLast")


def _place_and_cancel(demo, share, **more):  # noqa: F811
    placed = demo.place(**demo.limit_buy(share, **more))
    assert placed.status == 200, placed
    order_id = placed.json["order_id"]
    demo.until_status(order_id, "OPEN")
    assert demo.cancel(order_id).status == 200
    demo.until_status(order_id, "CANCELLED")
