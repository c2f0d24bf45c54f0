"""The one road of an order message to a broker, stopped or failing at every step of it: sent at most once, never before it is written,
and the room goes back when it was not."""

import ast
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest
import trio

from onebroker.actors.engine.context.trading_gate import Passage, TradingGate
from onebroker.actors.engine.placing.send_once import Message, RoomBy, send_ahead, whenever
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.sessions.messages import (
    AskRoom,
    CapReached,
    LoginNeeded,
    Permit,
    ReturnRoom,
    RoomFull,
    SendOrder,
    result,
)
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock
from onebroker.config.events import OrderSent
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome

ACTORS = Path(__file__).resolve().parents[4] / "actors"
PERMIT = Permit(place=None, counts=b"7")
COUNTS = Set(keys.rate("zerodha"), b"7")
ACCEPTED = result(Outcome.ACCEPTED, "", reached=True)
STEPS = ("room asked", "room granted", "write begun", "written", "sent", "answered")


@attrs.define
class Road:
    """A session and a store that note what they are asked, and do something at one of the steps."""

    at: str = ""
    """The step."""
    does: object = None
    """What happens there: an exception to raise, or a cancel scope to cancel."""
    log: list[str] = attrs.field(factory=list)
    gate: TradingGate = attrs.field(factory=TradingGate)
    free: bool = False
    """Whether room is free at once."""

    def take(self, priority):
        return PERMIT if self.free else None

    def _pass(self, step):
        self.log.append(step)
        if step == self.at:
            if isinstance(self.does, trio.CancelScope):
                self.does.cancel()
            elif self.does is not None:
                raise self.does

    async def ask(self, make, _seconds):
        message = make(SimpleNamespace(refuse=lambda error: None))
        match message:
            case AskRoom():
                self._pass("room asked")
                await trio.lowlevel.checkpoint()
                self._pass("room granted")
                await trio.lowlevel.checkpoint()
                return PERMIT
            case SendOrder():
                assert message.permit is PERMIT
                self._pass("sent")
                await trio.lowlevel.checkpoint()
                self._pass("answered")
                return ACCEPTED

    async def tell(self, message):
        assert message == ReturnRoom(permit=PERMIT)
        self.log.append("room given back")

    async def write(self, counts):
        assert counts == COUNTS
        self._pass("write begun")
        await trio.lowlevel.checkpoint()
        self._pass("written")
        await trio.lowlevel.checkpoint()

    async def send(self, room=None):
        handle = SimpleNamespace(broker=SimpleNamespace(code="zerodha"), address=self, room=self)
        context = SimpleNamespace(
            session={"zerodha": handle}.__getitem__,
            clock=Clock(),
            settings=SimpleNamespace(broker_timeout_seconds=5.0),
            gate=self.gate,
        )
        message = Message(
            broker="zerodha",
            request=None,
            when_accepted=None,
            event=OrderSent(broker="zerodha", verb="place"),
            passage=Passage.ENTRY,
        )
        room = RoomBy(priority=Priority.CANCEL, deadline=context.clock.monotonic() + 5) if room is None else room
        return await send_ahead(context, message, room, write=self.write, leave_before=whenever)


async def test_every_step_is_taken_once_and_in_its_order():
    road = Road()
    assert await road.send() is ACCEPTED
    assert road.log == list(STEPS)
    road = Road()
    assert await road.send(PERMIT) is ACCEPTED
    assert road.log == list(STEPS[2:])
    road = Road(free=True)
    assert await road.send() is ACCEPTED
    assert road.log == list(STEPS[2:])


@pytest.mark.parametrize("step", STEPS)
async def test_stopped_there_it_is_sent_at_most_once_and_only_when_it_is_written(step):
    with trio.CancelScope() as scope:
        road = Road(step, scope)
        await road.send()
    reached = STEPS.index(step)
    log = [one for one in road.log if one != "room given back"]
    if reached < STEPS.index("sent"):
        assert scope.cancelled_caught
        assert log == list(STEPS[: reached + 1])
    else:  # what a broker may have got is waited for, also by who is being stopped
        assert log == list(STEPS)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("step", ["write begun", "written"])
@pytest.mark.parametrize("error", [StoreError("away"), Refusal(409, "it has ended")], ids=["store", "ended"])
async def test_what_is_not_written_is_not_sent_and_gives_its_room_back(step, error, free):
    road = Road(step, error, free=free)
    with pytest.raises(type(error)) as raised:
        await road.send()
    assert raised.value is error
    assert "sent" not in road.log
    assert road.log[-1] == "room given back"
    assert road.log.count("room given back") == 1


@pytest.mark.parametrize(
    ("refused", "raised"),
    [
        (LoginNeeded("zerodha"), LoginNeeded),
        (RoomFull(), RoomFull),
        (CapReached(5000, 5000, 50), CapReached),
        (AskTimedOut("zerodha", 6, queued=False), RoomFull),
        (ActorNotRunning("zerodha", taken=False), LoginNeeded),
    ],
    ids=["login", "full", "cap", "timed out", "not running"],
)
async def test_without_room_nothing_is_written(refused, raised):
    road = Road("room asked", refused)
    with pytest.raises(raised):
        await road.send()
    assert road.log == ["room asked"]


@pytest.mark.parametrize(
    ("error", "outcome", "reached"),
    [
        (LoginNeeded("zerodha"), Outcome.REJECTED, False),
        (ActorNotRunning("zerodha", taken=False), Outcome.REJECTED, False),
        (ActorNotRunning("zerodha", taken=True), Outcome.UNKNOWN, True),
        (AskTimedOut("zerodha", 6, queued=False), Outcome.UNKNOWN, True),
    ],
    ids=["login", "not taken", "taken", "timed out"],
)
async def test_what_a_session_does_is_an_outcome_and_never_sent_again(error, outcome, reached):
    road = Road("sent", error)
    sent = await road.send()
    assert (sent.answer.outcome, sent.reached) == (outcome, reached)
    assert (road.log.count("sent"), road.log[-1]) == (1, "sent")


def test_nothing_else_makes_an_order_message_for_a_session():
    callers = {"SendOrder": set(), "ask_room": set(), "send_ahead": set()}
    for path in sorted(ACTORS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in callers:
                callers[node.func.id].add(str(path.relative_to(ACTORS)))
    assert callers == {
        "SendOrder": {"engine/placing/send_once.py"},
        "ask_room": {"engine/placing/send_once.py", "engine/placing/seats.py"},
        "send_ahead": {
            "engine/desk/desk_context.py",
            "engine/parent/leg_cancel.py",
            "engine/parent/leg_change.py",
            "engine/parent/simple.py",
            "engine/plan_parent/resting_order_cancel.py",
            "engine/plan_parent/leg_placement.py",
        },
    }
