"""A backup that is taken under load, and restored after the service has gone on, was started again, and was killed: the same open parents, token and history, and by
the exchange's ledger nothing is sent twice. The exchange goes on in the simulator's folder, which the restored demo gets as it was at the kill."""

import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.demo.conftest import Demo
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.long

SETTLED_SECONDS = 300.0
"""The engine of a restored directory reads the books for a minute, and asks some brokers by token for up to another minute."""
MOST_EACH = 100
"""Orders that each thread of the load places at most."""
RESTARTS = 2
RESTING = ("open", "trigger_pending")
CANDLES = "instrument_id,interval,time,open,high,low,close,volume\n" + "".join(
    f"{{0}},day,2026-10-{day},100,101,99,100.5,{day}\n" for day in (12, 13, 14, 15, 16)
)


def onebroker(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", *map(str, arguments)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def resting(demo, share):
    orders = [each for each in demo.ledger()["orders"] if each["instrument_id"] == share["instrument_id"]]
    return [each for each in orders if each["status"] in RESTING]


def rows(demo):
    return {(row["broker"], row["order_id"]): row for row in demo.orders()}


def parent(demo, parent_id):
    return demo.read("/api/orders/parents", parent_id=parent_id)


def prices(demo, share):
    return demo.read("/api/instruments/prices", instrument_id=share["instrument_id"], interval="day",
                     **{"from": "2026-10-12", "to": "2026-10-16"})["candles"]  # fmt: skip


def entry_with_exits(demo, share, *, hold_limits):
    """A plan whose entry is below the market, and whose fill sends a stop and a target; the entry rests, or is held by the engine."""
    synthetic = {"type": "plan", "hold_limits": hold_limits, "root": demo.entry_with_exits(share)}
    answer = demo.place(**demo.limit_buy(share, -1, quantity=6, product="MIS"), synthetic=synthetic)
    assert answer.status in (200, 202), answer
    return answer.json["parent_id"]


class Load:
    """Orders placed by some threads at once, until `end`."""

    def __init__(self, demo, share, pool):
        self._demo, self._share, self._ended = demo, share, threading.Event()
        self._threads = [pool.submit(self._place, number) for number in range(4)]

    def _place(self, number):
        placed = []
        while not self._ended.is_set() and len(placed) < MOST_EACH:
            answer = self._demo.place(**self._demo.limit_buy(self._share, -3, quantity=1 + (len(placed) + number) % 9))
            if answer.status == 200:
                placed.append(answer.json)
            self._ended.wait(0.2)
        return placed

    def end(self):
        """Return the answers of the orders that were accepted."""
        self._ended.set()
        return [each for thread in self._threads for each in thread.result()]


@pytest.fixture(scope="module")
def story(new_demo, tmp_path_factory):
    """A demo before its backup, the backup, and the demo that was restored from it after the first was killed."""
    first, folder = new_demo().start(), tmp_path_factory.mktemp("backup")
    first.until_ready()
    shares = first.shares()
    told = {"shares": shares, "token": first.token}

    (folder / "candles.csv").write_text(CANDLES.replace("{0}", shares[0]["instrument_id"]))
    onebroker("history", "load", folder / "candles.csv", "--data-dir", first.data_dir)
    told["prices"] = prices(first, shares[0])
    told["simple"] = first.place(**first.limit_buy(shares[1], -3)).json
    told["rests"] = entry_with_exits(first, shares[2], hold_limits=False)
    told["held"] = entry_with_exits(first, shares[3], hold_limits=True)
    first.until(lambda: len(resting(first, shares[2])) == 1, "the entry to rest")
    assert resting(first, shares[3]) == []

    with ThreadPoolExecutor(4) as pool:
        load = Load(first, shares[4], pool)
        first.until(lambda: len(first.placed()) >= 12, "the load to begin")
        told["said"] = onebroker("backup", folder / "onebroker.tar", "--data-dir", first.data_dir)
        told["copied"] = {each["parent_order_id"] for each in first.read("/api/orders/parents")["parents"]}
        since = len(first.placed())
        first.until(lambda: len(first.placed()) >= since + 12, "the load to go on")
        told["load"] = load.end()
    for _ in range(RESTARTS):  # runs of the engine of which the backup knows nothing
        first.kill()
        first.start()
        first.until_ready()
    # Then both entries fill, and their exits are sent: the backup knows of none of them.
    for share in shares[2:4]:
        first.move(share["instrument_id"], first.at_price(share, -2), 3600)
    first.until(lambda: len(resting(first, shares[2])) == 2, "both exits to rest")
    first.until(lambda: len(resting(first, shares[3])) == 1, "the stop to rest; the target is held")
    told["before"] = first.assert_sent_once()
    told["legs"] = {name: parent(first, told[name])["legs"] for name in ("rests", "held")}
    first.kill()
    first.until(lambda: first.simulators() == [], "the simulator to end itself")
    first.clean_up()

    second = Demo(folder / "restored")
    told["restored"] = onebroker("restore", folder / "onebroker.tar", "--data-dir", second.data_dir)
    shutil.copytree(first.data_dir / "simulator", second.data_dir / "simulator")
    try:
        second.start()
        yield second, told
    finally:
        second.clean_up()


@pytest.fixture(scope="module")
def restored(story):
    """The restored demo, once its engine has found out what the backup did not know."""
    demo, told = story

    def settled():
        engine = demo.read("/api/health")["engine"]
        return engine["running"] and not engine.get("trouble")

    demo.until(settled, lambda: f"the engine to be sure: {demo.read('/api/health')['engine']}", SETTLED_SECONDS)
    return demo, told


def test_the_same_token_is_accepted_and_the_history_is_the_same(story):
    demo, told = story
    assert demo.token == told["token"]
    assert prices(demo, told["shares"][0]) == told["prices"]
    assert len(told["prices"]) == 5


def test_the_audit_is_whole_and_goes_on(story):
    demo, _ = story
    assert onebroker("audit", "verify", "--data-dir", demo.data_dir).startswith("whole: ")


def test_the_parents_of_the_backup_are_open_with_their_orders(restored):
    demo, told = restored
    open_now = {each["parent_order_id"] for each in demo.read("/api/orders/parents")["parents"]}
    assert {told["simple"]["parent_id"], told["rests"], told["held"]} <= open_now
    (leg,) = parent(demo, told["simple"]["parent_id"])["legs"]
    assert leg["order_id"] == told["simple"]["order_id"]


@pytest.mark.parametrize(("name", "orders"), [("rests", 3), ("held", 2)])
def test_orders_of_a_plan_that_left_after_the_backup_are_taken_up(restored, name, orders):
    demo, told = restored
    before = {(leg["broker"], leg["order_id"]) for leg in told["legs"][name]}
    assert len(before) == orders  # the entry and its exits; an engine that holds limits holds the target
    legs = lambda: {(leg["broker"], leg["order_id"]) for leg in parent(demo, told[name])["legs"]}  # noqa: E731
    demo.until(lambda: legs() == before, lambda: f"its orders {before}, not {legs()}")


def test_nothing_was_sent_again(restored):
    demo, told = restored
    assert demo.assert_sent_once() == told["before"]


def test_every_order_is_shown_and_those_of_parents_after_the_backup_are_named(restored):
    demo, told = restored
    sent = {(each["broker"], each["order_id"]) for each in told["before"] if each["order_id"]}
    demo.until(lambda: sent <= rows(demo).keys(), lambda: f"the orders {sent - rows(demo).keys()}")
    unknown = {each["order_id"] for each in demo.read("/api/health")["unknown_orders"]}
    later = {each["order_id"] for each in told["load"] if each["parent_id"] not in told["copied"]}
    assert later
    assert later <= unknown
    assert told["simple"]["order_id"] not in unknown


def test_restored_orders_obey_and_new_ones_are_taken(restored):
    demo, told = restored
    assert demo.cancel(told["simple"]["order_id"]).json["outcome"] == "accepted"
    demo.until_status(told["simple"]["order_id"], "CANCELLED")
    said = demo.place(**demo.limit_buy(told["shares"][5], -3))
    assert said.status == 200, said
    demo.until_status(said.json["order_id"], "OPEN")
    demo.assert_sent_once()
