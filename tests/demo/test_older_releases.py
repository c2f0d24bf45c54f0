"""Data directories as the demos of older releases really left them (`tests/support/released_directory.py`): today's service goes on with each.

The same for each store alone, and the refusal of a newer directory: tests/http/commands/backup/test_formats_on_disk.py and test_stored_formats.py.
"""

from pathlib import Path

import msgspec
import pytest

from tests.support.released_directory import INSTRUMENTS, LATER, unpack

KEPT = sorted((Path(__file__).resolve().parents[1] / "data" / "directories" / "releases").glob("*.tar.xz"))
MOST_BYTES = 300_000
SENT = ("leg_id", "broker", "order_id", "transaction_type", "product", "order_type", "quantity")
"""What stays of an order that has left."""


@pytest.fixture(scope="module", params=KEPT, ids=lambda file: file.name.removesuffix(".tar.xz"))
def opened(request, new_demo):
    """A demo of today on the directory, and what its release had said."""
    demo = new_demo("--instruments", INSTRUMENTS, "--now", LATER)
    told = unpack(request.param, demo.data_dir)
    demo.start()
    demo.until_ready()
    return demo, told


def parents(demo):
    return {each["parent_order_id"]: each for each in demo.read("/api/orders/parents")["parents"]}


def placed(demo):
    return [each["order_id"] for each in demo.placed()]


def test_each_release_is_kept_and_small():
    assert [file.name for file in KEPT] == ["0.1.0.tar.xz", "0.2.0.tar.xz"]
    assert all(file.stat().st_size < MOST_BYTES for file in KEPT)


def test_the_token_stays(opened):
    demo, told = opened
    assert demo.token == told.token


def test_the_parents_are_found_with_their_orders_and_nothing_is_sent(opened):
    demo, told = opened
    found = parents(demo)
    for parent in told.parents:
        now = found[parent["parent_order_id"]]
        assert {name: now[name] for name in ("state", "synthetic_type", "routed_from", "instrument_id", "body")} == {
            name: parent[name] for name in ("state", "synthetic_type", "routed_from", "instrument_id", "body")
        }
        assert [[leg[name] for name in SENT] for leg in now["legs"]] == [
            [leg[name] for name in SENT] for leg in parent["legs"]
        ]
    demo.until_status(told.resting, "OPEN")
    assert placed(demo) == told.placed
    assert demo.read("/api/health")["unknown_orders"] == []


def test_the_candles_are_served(opened):
    demo, told = opened
    answer = demo.read("/api/instruments/prices", instrument_id=told.instrument_id, interval="day", days=10)
    assert msgspec.json.encode(answer["candles"][: len(told.candles)]) == msgspec.json.encode(told.candles)


def test_the_parents_go_on(opened):
    """The market falls to the resting order, and to the stop of the bracket."""
    demo, told = opened
    legs = [leg for parent in told.parents for leg in parent["legs"]]
    demo.move(told.instrument_id, round(min(leg["trigger_price"] or leg["price"] for leg in legs) - 0.1, 2))
    for parent in told.parents:
        demo.until(lambda parent=parent: is_completed(demo, parent["parent_order_id"]), "the parent to be completed")
    assert demo.until_status(told.resting, "COMPLETE")["filled_quantity"] == 10
    assert placed(demo) == told.placed, "the stop rested at its broker"


def is_completed(demo, parent_order_id):
    return demo.read("/api/orders/parents", parent_id=parent_order_id)["state"] == "completed"
