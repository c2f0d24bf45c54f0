"""The audit of the demo, over HTTP and by the command: who asked what, what was decided, sent, answered and filled; a kill breaks no chain."""

import subprocess
import sys
from collections import Counter

import pytest

from tests.demo.conftest import KEY, SECRET

pytestmark = pytest.mark.long


def verify(demo):
    """Run `onebroker audit verify` and return its exit code and its lines."""
    command = [sys.executable, "-m", "onebroker.http", "audit", "verify", "--data-dir", str(demo.data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines()


def command(demo, *words):
    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", *words, "--data-dir", str(demo.data_dir)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done
    return done.stdout.splitlines()


def every_line(demo, **query):
    lines, cursor = [], {}
    while True:
        page = demo.read("/api/audit", limit=1000, **query, **cursor)
        lines += page["lines"]
        cursor = {"cursor": page["cursor"]}
        if not page["more"]:
            return lines


def names(lines):
    return [line["event"] for line in lines]


def until_line(demo, wanted, what):
    return demo.until(lambda: next((line for line in every_line(demo) if wanted(line)), None), what)


def test_orders_are_kept_from_the_request_to_the_fill_and_a_kill_breaks_no_chain(new_demo):
    demo = new_demo().start()
    demo.until_ready()
    share, other = demo.share(1), demo.share(2)
    placed = demo.place(**demo.limit_buy(share), tag="audit").json
    rests = demo.place(**demo.limit_buy(other, -5)).json
    assert demo.place(**{**demo.limit_buy(share), "quantity": 0.5}).status == 400
    assert demo.cancel(rests["order_id"]).status == 200
    demo.move(share["instrument_id"], demo.at_price(share, -3))
    demo.until_status(placed["order_id"], "COMPLETE")
    assert demo.ask("POST", "/api/orders/halt", {"confirm": "HALT", "reason": "a test"}).status == 200
    assert demo.place(**demo.limit_buy(share)).status == 403
    command(demo, "resume")

    parent = placed["parent_id"]
    until_line(demo, lambda line: line["event"] == "order.filled" and line["parent"] == parent, "the fill to be kept")
    until_line(
        demo,
        lambda line: (
            line["event"] == "request.answered" and line["parents"] == [parent] if "parents" in line else False
        ),
        "the answer",
    )
    own = every_line(demo, parent=parent)
    assert names(own)[:7] == [
        "request.asked", "parent.state", "order.decided", "parent.state", "order.sent", "order.answered", "request.answered",
    ]  # fmt: skip
    asked, decided, answered = own[0], own[2], own[6]
    assert (asked["who"], asked["method"], asked["path"]) == ("token", "POST", "/api/orders/place")
    assert asked["address"] == "127.0.0.1"
    assert '"tag":"audit"' in asked["body"]
    assert (answered["request"], answered["status"]) == (asked["request"], 200)
    assert decided["broker"] == placed["broker"]
    assert names(own)[-1] == "parent.state"
    shown = command(demo, "audit", "show", parent)
    assert [int(line.split()[0]) for line in shown] == [line["n"] for line in own]

    lines = every_line(demo)
    assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))
    assert "settings.used" in names(lines)
    answers = {line["request"]: line for line in lines if line["event"] == "request.answered"}
    by_path = {}
    for line in lines:
        if line["event"] == "request.asked":
            by_path.setdefault(line["path"].partition("?")[0], []).append(answers[line["request"]].get("status"))
    assert by_path["/api/orders/place"] == [200, 200, 400, 403]
    assert by_path["/api/orders/cancel"] == [200]
    assert by_path["/api/orders/halt"] == [200]
    assert by_path["resume"] == [None]
    assert set(by_path["/api/session/connect"]) == {200}
    halted = next(line for line in lines if line["event"] == "halt.on")
    assert halted["reason"] == "a test"

    demo.kill()
    code, said = verify(demo)
    assert code == 0 or "not finished" in said[0]
    demo.start()
    demo.until_ready()
    assert verify(demo)[0] == 0
    again = every_line(demo)
    assert again[: len(lines)] == lines
    sent = Counter(
        (line["broker"], line["verb"], line.get("order_id") or line["token"])
        for line in again
        if line["event"] == "order.sent"
    )
    ledger = Counter(
        (row["broker"], row["verb"], row["tag"] if row["verb"] == "place" else row["order_id"])
        for row in demo.ledger()["messages"]
    )
    assert sent == ledger
    token = demo.token
    assert demo.end() == 0
    code, said = verify(demo)
    assert code == 0, said
    (path,) = (demo.data_dir / "audit").iterdir()
    text = path.read_bytes()
    assert text.rstrip().splitlines()[-1].find(b'"event":"stop"') > 0
    for secret in (token, SECRET, KEY):
        assert secret.encode() not in text
    path.write_bytes(text.replace(b'"who":"token"', b'"who":"tokem"', 1))
    code, said = verify(demo)
    assert code == 1
    assert f"{path} line " in said[0]
