"""Mailboxes: what is told is kept in order, what is replaced is the newest, who asks always gets an end."""

from collections.abc import Callable

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Mailbox, Reply, open_mailbox


@attrs.frozen
class Question:
    reply: Reply[str]


Message = str | Question


def running_mailbox(capacity: int = 2) -> Mailbox[Message]:
    mailbox: Mailbox[Message] = open_mailbox("tester", capacity=capacity)
    mailbox.running = True
    return mailbox


async def take(mailbox: Mailbox[Message], count: int) -> list[Message]:
    with trio.fail_after(1):
        return [await mailbox.receive() for _ in range(count)]


def test_a_mailbox_has_room_for_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least one"):
        open_mailbox("nobody", capacity=0)


async def test_told_messages_come_in_the_order_they_were_told(autojump_clock: MockClock) -> None:
    mailbox = running_mailbox(3)
    for text in ("a", "b", "c"):
        await mailbox.address.tell(text)
    assert await take(mailbox, 3) == ["a", "b", "c"]
    assert mailbox.last_message_type == "str"


async def test_a_full_mailbox_makes_senders_wait_and_lets_them_in_first_come_first_served(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox = running_mailbox(1)
    await mailbox.address.tell("0")
    for number in range(1, 6):
        nursery.start_soon(mailbox.address.tell, str(number))
        await wait_all_tasks_blocked()
    assert mailbox.figures().full_waits == 5
    assert mailbox.figures().depth == 1, "never more than its capacity"
    assert await take(mailbox, 1) == ["0"]
    late = trio.Event()

    async def tell_late() -> None:
        await mailbox.address.tell("late")
        late.set()

    nursery.start_soon(tell_late)
    assert await take(mailbox, 6) == ["1", "2", "3", "4", "5", "late"]
    with trio.fail_after(1):
        await late.wait()


async def test_a_sender_that_gives_up_while_waiting_leaves_nothing_behind(autojump_clock: MockClock) -> None:
    mailbox = running_mailbox(1)
    await mailbox.address.tell("first")
    with trio.move_on_after(1) as scope:
        await mailbox.address.tell("given up")
    assert scope.cancelled_caught
    assert await take(mailbox, 1) == ["first"]
    await mailbox.address.tell("next")
    assert await take(mailbox, 1) == ["next"]


async def test_replacing_never_waits_and_keeps_the_newest_of_each_key(autojump_clock: MockClock) -> None:
    mailbox = running_mailbox(1)
    await mailbox.address.tell("told")
    for number in range(1000):
        mailbox.address.replace("slice a", f"a{number}")
        mailbox.address.replace("slice b", f"b{number}")
    figures = mailbox.figures()
    assert (figures.depth, figures.replaced) == (3, 1998)
    assert await take(mailbox, 3) == ["told", "a999", "b999"]
    mailbox.address.replace("slice a", "again")
    assert await take(mailbox, 1) == ["again"]


async def test_all_that_was_replaced_can_be_taken_at_once(autojump_clock: MockClock) -> None:
    mailbox = running_mailbox()
    for text in ("a1", "b1", "a2"):
        mailbox.address.replace(text[0], text)
    await mailbox.address.tell("told")
    assert mailbox.take_replaced() == ["a2", "b1"]
    assert mailbox.take_replaced() == []
    assert await take(mailbox, 1) == ["told"]
    mailbox.address.replace("a", "a3")
    assert await take(mailbox, 1) == ["a3"]


async def test_the_reader_wakes_for_each_kind_of_message(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    mailbox = running_mailbox()
    got: list[Message] = []

    async def read() -> None:
        while True:
            got.append(await mailbox.receive())

    nursery.start_soon(read)
    await wait_all_tasks_blocked()
    await mailbox.address.tell("told")
    await wait_all_tasks_blocked()
    mailbox.address.replace("k", "replaced")
    await wait_all_tasks_blocked()
    assert got == ["told", "replaced"]


async def test_an_ask_returns_the_answer_and_only_the_first_one(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox = running_mailbox()

    async def answer() -> None:
        message = await mailbox.receive()
        assert isinstance(message, Question)
        message.reply.answer("first")
        message.reply.answer("second")
        message.reply.refuse(ValueError("too late"))

    nursery.start_soon(answer)
    with trio.fail_after(5):
        assert await mailbox.address.ask(Question, 1) == "first"


async def test_a_refused_ask_raises_what_the_actor_said(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    mailbox = running_mailbox()

    async def refuse() -> None:
        message = await mailbox.receive()
        assert isinstance(message, Question)
        message.reply.refuse(LookupError("no such order"))

    nursery.start_soon(refuse)
    with trio.fail_after(5), pytest.raises(LookupError, match="no such order"):
        await mailbox.address.ask(Question, 1)


async def test_an_actor_that_is_not_running_refuses_asks_at_once_but_takes_what_it_is_told(
    autojump_clock: MockClock,
) -> None:
    mailbox: Mailbox[Message] = open_mailbox("tester", capacity=2)
    began = trio.current_time()
    with pytest.raises(ActorNotRunning) as refusal:
        await mailbox.address.ask(Question, 10)
    assert trio.current_time() == began
    assert not refusal.value.taken
    await mailbox.address.tell("kept")
    assert await take(mailbox, 1) == ["kept"]


async def test_the_deadline_of_an_ask_covers_the_wait_for_room(autojump_clock: MockClock) -> None:
    mailbox = running_mailbox(1)
    await mailbox.address.tell("in the way")
    began = trio.current_time()
    with pytest.raises(AskTimedOut) as late:
        await mailbox.address.ask(Question, 3)
    assert trio.current_time() - began == pytest.approx(3)
    assert not late.value.queued
    assert await take(mailbox, 1) == ["in the way"]
    assert mailbox.figures().depth == 0, "an ask that never got in is never worked"


async def test_the_deadline_of_an_ask_covers_the_answer_and_room_counts_into_it(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox = running_mailbox(1)
    await mailbox.address.tell("in the way")

    async def make_room_late() -> None:
        await trio.sleep(2)
        await mailbox.receive()

    nursery.start_soon(make_room_late)
    began = trio.current_time()
    with pytest.raises(AskTimedOut) as late:
        await mailbox.address.ask(Question, 3)
    assert trio.current_time() - began == pytest.approx(3)
    assert late.value.queued


@pytest.mark.parametrize("taken", [True, False])
async def test_when_the_actor_stops_every_ask_ends_and_says_whether_it_was_taken(
    autojump_clock: MockClock, nursery: trio.Nursery, taken: bool
) -> None:
    mailbox = running_mailbox()
    outcome = collect(nursery, mailbox)
    await wait_all_tasks_blocked()
    if taken:
        await take(mailbox, 1)
    mailbox.stopped()
    await wait_all_tasks_blocked()
    assert outcome == [taken]


async def test_asks_in_the_queue_of_a_stopped_actor_are_never_worked_and_told_messages_stay(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox = running_mailbox(4)
    await mailbox.address.tell("one")
    outcomes = collect(nursery, mailbox, 2)
    await wait_all_tasks_blocked()
    await mailbox.address.tell("two")
    mailbox.address.replace("k", "newest")
    mailbox.stopped()
    await wait_all_tasks_blocked()
    assert outcomes == [False, False]
    assert await take(mailbox, 3) == ["one", "two", "newest"]
    assert mailbox.figures().depth == 0
    for number in range(4):
        with trio.fail_after(1):
            await mailbox.address.tell(f"room {number}")


async def test_an_ask_waiting_for_room_ends_at_once_when_the_actor_stops(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox = running_mailbox(1)
    await mailbox.address.tell("in the way")
    outcomes = collect(nursery, mailbox)
    await wait_all_tasks_blocked()
    began = trio.current_time()
    mailbox.stopped()
    await wait_all_tasks_blocked()
    assert outcomes == [False]
    assert trio.current_time() == began
    assert await take(mailbox, 1) == ["in the way"]


async def test_an_ask_given_room_just_before_the_actor_stops_is_not_worked_later(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox = running_mailbox(1)
    await mailbox.address.tell("in the way")
    outcomes = collect(nursery, mailbox)
    await wait_all_tasks_blocked()
    assert await mailbox.receive() == "in the way"
    mailbox.stopped()  # before the asker, who now has room, gets its turn
    await wait_all_tasks_blocked()
    assert outcomes == [False]
    assert mailbox.figures().depth == 0, "its asker was told it failed: an order must not be placed for it"
    with trio.fail_after(1):
        await mailbox.address.tell("the room is free again")


@given(st.lists(st.sampled_from(["tell", "replace a", "replace b", "take"]), max_size=60))
def test_no_told_message_is_lost_and_the_newest_of_each_key_arrives(actions: list[str]) -> None:
    async def scenario() -> None:
        mailbox = running_mailbox(100)
        told: list[Message] = []
        got: list[Message] = []
        newest: dict[str, str] = {}
        for number, action in enumerate(actions):
            if action == "tell":
                await mailbox.address.tell(f"t{number}")
                told.append(f"t{number}")
            elif action == "take":
                if mailbox.figures().depth:
                    got.append(await mailbox.receive())
            else:
                mailbox.address.replace(action, f"{action} {number}")
                newest[action] = f"{action} {number}"
        while mailbox.figures().depth:
            got.append(await mailbox.receive())
        assert [one for one in got if isinstance(one, str) and one.startswith("t")] == told
        for key, value in newest.items():
            assert [one for one in got if isinstance(one, str) and one.startswith(key)][-1] == value

    trio.run(scenario)


def collect(nursery: trio.Nursery, mailbox: Mailbox[Message], count: int = 1) -> list[bool]:
    """Ask `count` times in the background; the list fills with `taken` of each ActorNotRunning."""
    outcomes: list[bool] = []
    make: Callable[[Reply[str]], Message] = Question

    async def ask() -> None:
        try:
            await mailbox.address.ask(make, 60)
        except ActorNotRunning as error:
            outcomes.append(error.taken)

    for _ in range(count):
        nursery.start_soon(ask)
    return outcomes


async def test_it_can_be_looked_up_whether_a_message_waits() -> None:
    mailbox = running_mailbox()
    await mailbox.address.tell("first")
    assert mailbox.holds(lambda message: message == "first")
    assert not mailbox.holds(lambda message: message == "second")
    await take(mailbox, 1)
    assert not mailbox.holds(lambda message: message == "first")
