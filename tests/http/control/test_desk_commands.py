"""Halt, resume and flatten over the control socket: the fields are checked as over HTTP, and the desk's answer is passed on."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import DeskMessage, Flatten, HaltTrading, ResumeTrading
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.store.durable import HaltMode
from onebroker.config.clock import Clock
from onebroker.http.control.desk_commands import answer

HALT = {"command": "halt", "confirm": "HALT", "reason": "the feed is wrong"}
RESUME = {"command": "resume"}
FLATTEN = {"command": "flatten", "confirm": "FLATTEN"}
CONFIRM_FLATTEN = "flattening cancels every order and closes every position, so it needs confirm set to FLATTEN"


class Desk:
    """Notes what it is asked, and gives the answer that a test has set; None answers nothing."""

    def __init__(self) -> None:
        self.mailbox: Mailbox[DeskMessage] = open_mailbox("the order desk", capacity=4)
        self.asked: list[DeskMessage] = []
        self.says: EngineAnswer | None = EngineAnswer(status=200, body={"halted": False})

    async def run(self) -> None:
        self.mailbox.running = True
        async for message in self.mailbox:
            self.asked.append(message)
            if self.says is not None:
                message.reply.answer(self.says)

    async def answer(self, request: dict[str, str]) -> dict[str, object]:
        return await answer(request, self.mailbox.address, Clock())


@pytest.fixture
async def desk(nursery: trio.Nursery) -> Desk:
    desk = Desk()
    nursery.start_soon(desk.run)
    await wait_all_tasks_blocked()
    return desk


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({**HALT, "confirm": "halt"}, 'confirm must be "HALT"'),
        ({"command": "halt", "reason": "x"}, 'confirm must be "HALT"'),
        ({**HALT, "mode": "all"}, "mode must be one of reduce_only, nothing"),
        ({"command": "halt", "confirm": "HALT"}, "reason is required"),
        ({**HALT, "reason": " "}, "reason must be a text of 1 to 200 characters"),
        ({**HALT, "reason": "x" * 201}, "reason must be a text of 1 to 200 characters"),
        ({**HALT, "dry_run": "true"}, "a halt takes no dry_run"),
        ({**RESUME, "confirm": "HALT"}, "a resume takes no confirm"),
        ({"command": "flatten"}, CONFIRM_FLATTEN),
        ({**FLATTEN, "confirm": "HALT"}, CONFIRM_FLATTEN),
        ({**FLATTEN, "dryrun": "true"}, "a flatten takes no dryrun"),
        ({**FLATTEN, "x" * 900: ""}, f"a flatten takes no {'x' * 64}"),
    ],
)
async def test_what_http_refuses_is_refused_here_and_nothing_is_asked(
    desk: Desk, request_: dict[str, str], sentence: str
) -> None:
    assert await desk.answer(request_) == {"error": sentence}
    assert desk.asked == []


async def test_each_command_asks_the_desk(desk: Desk) -> None:
    for request in (HALT, {**HALT, "mode": "nothing"}, RESUME, FLATTEN, {**FLATTEN, "dry_run": "true"}):
        assert await desk.answer(request) == {"done": {"halted": False}}
    first, second, third, fourth, fifth = desk.asked
    assert isinstance(first, HaltTrading)
    assert (first.mode, first.reason) == (HaltMode.REDUCE_ONLY, "the feed is wrong")
    assert isinstance(second, HaltTrading)
    assert second.mode is HaltMode.NOTHING
    assert isinstance(third, ResumeTrading)
    assert isinstance(fourth, Flatten)
    assert isinstance(fifth, Flatten)
    assert (fourth.dry_run, fifth.dry_run) == (False, True)


async def test_a_refusal_of_the_desk_is_passed_on(desk: Desk) -> None:
    desk.says = EngineAnswer(status=409, body={"error": "trading is not halted"})
    assert await desk.answer(RESUME) == {"error": "trading is not halted"}


async def test_a_flatten_in_part_is_no_error(desk: Desk) -> None:
    desk.says = EngineAnswer(status=207, body={"flat": False})
    assert await desk.answer(FLATTEN) == {"done": {"flat": False}}


async def test_a_silent_desk_may_still_do_it(desk: Desk, autojump_clock: object) -> None:
    desk.says = None
    said = await desk.answer(FLATTEN)
    assert said == {"error": "the order desk did not answer within 185 s, so this may still happen"}


async def test_a_desk_that_does_not_run_has_done_nothing() -> None:
    said = await Desk().answer(HALT)
    assert said == {"error": "the order desk is not running, so nothing was done; try again in a moment"}
