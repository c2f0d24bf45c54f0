"""Imported exchange documents are the hours of the service and of its simulated exchange: a Saturday with a session of its own."""

import json
import subprocess
import sys

import pytest

from onebroker.config.exchange_documents import exchange_documents

pytestmark = pytest.mark.long

SATURDAY = "2026-11-28T11:00:00+05:30"
REAL = ("--market-hours", "real", "--instruments", "300", "--now", SATURDAY)
DRILL = {"date": "2026-11-28", "name": "Drill", "calendars": ["equity"], "opens": "10:00", "closes": "16:00"}


def import_exchanges(demo, documents):
    command = [sys.executable, "-m", "onebroker.http", "import", "exchanges", "-", "--data-dir", str(demo.data_dir)]
    done = subprocess.run(command, input=json.dumps(documents).encode(), capture_output=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def with_the_drill():
    documents = exchange_documents()
    for document in documents[:2]:
        document["special_sessions"].append(DRILL)
    return documents


def test_a_session_that_was_imported_is_traded_in_by_everybody_and_served(new_demo):
    demo = new_demo(*REAL)
    assert "no service is running" in import_exchanges(demo, with_the_drill())
    demo.start()
    demo.until_ready()
    assert demo.read("/api/exchanges/details") == with_the_drill()
    share = demo.share()
    answer = demo.place(**demo.limit_buy(share))
    assert answer.status == 200, answer
    demo.until_status(answer.json["order_id"], "OPEN")
    demo.move(share["instrument_id"], demo.at_price(share, -3))
    demo.until_status(answer.json["order_id"], "COMPLETE")
    assert "serves them now" in import_exchanges(demo, exchange_documents())
    assert demo.read("/api/exchanges/details") == exchange_documents()
    assert demo.read("/api/health")["crashes"] == []
