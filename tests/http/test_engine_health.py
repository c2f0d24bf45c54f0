"""What `/api/health` shows of the engine."""

from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.http.composition import engine_health

RUNNING = EngineStatus(running=True, reason="", trouble="no open order acts until …")


def test_it_runs_while_the_store_can_be_reached():
    assert engine_health(RUNNING, reachable=True) == {
        "running": True, "reason": "", "starting": False, "trouble": "no open order acts until …",
    }  # fmt: skip


def test_without_the_store_it_takes_no_orders_and_says_so_at_once():
    shown = engine_health(RUNNING, reachable=False)
    assert (shown["running"], shown["reason"]) == (False, "Redis could not be read: the store is away")


def test_one_that_does_not_run_keeps_its_own_reason():
    stopped = EngineStatus(running=False, reason="the order engine is starting")
    assert engine_health(stopped, reachable=False)["reason"] == "the order engine is starting"
