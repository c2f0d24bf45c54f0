"""The outbox: each message reaches every receiver at least once, over failures, hanging receivers, restarts and a store that is away."""

import trio

from onebroker.actors.alerts.outbox import MOST_MESSAGES
from onebroker.actors.store.durable import DurableError
from onebroker.config.events import AlertFailed, AlertGivenUp, ExposureUnprotected, HaltOff, HaltOn, OrderRejected


def rejection(words="no", broker="zerodha"):
    return OrderRejected(broker=broker, parent=None, leg=None, order_id="A9", words=words)


def unprotected(number):
    return ExposureUnprotected(parent=f"P{number}", instrument="i", units=number)


async def test_a_message_is_stored_before_it_is_sent_and_removed_afterwards(house, autojump_clock):
    seen = []
    plain = house.first.send

    async def send(title, body):
        seen.append(await house.durable.alert_messages())
        return await plain(title, body)

    house.first.send = send
    async with house.run():
        await house.hear(rejection())
        assert [len(rows) for rows in seen] == [1]
        assert house.first.ids[0].encode() in seen[0][0]
        assert await house.durable.alert_messages() == ()
        assert (house.view.value.sent, house.view.value.waiting) == (1, 0)


async def test_a_receiver_that_is_away_for_a_minute_gets_the_message_once_and_the_other_is_not_told_again(
    make_house, autojump_clock
):
    house = make_house(receivers=2)
    house.first.fails = "error=502"
    async with house.run():
        await house.hear(rejection(), wait=60)
        assert len(house.receivers[1].taken) == 1
        assert 4 <= house.first.tried <= 6
        house.first.fails = None
        await trio.sleep(70)
        assert house.first.ids == house.receivers[1].ids
        assert len(house.receivers[1].taken) == 1
        view = house.view.value.receivers[0]
        assert (view.failing_since, view.last_failure, view.waiting) == (None, "error=502", 0)


async def test_a_failure_is_told_once_a_streak_with_number_and_scheme(house, autojump_clock):
    house.first.fails = "error=502"
    async with house.run():
        await house.hear(rejection(), wait=200)
        told = [event for event in house.told if isinstance(event, AlertFailed)]
        assert told == [AlertFailed(kind="rejected", receiver=1, scheme="json", words="error=502")]
        house.first.fails = None
        await trio.sleep(400)
        house.first.fails = "error=503"
        await house.hear(HaltOn(mode="nothing", reason="x"))
        told = [event.words for event in house.told if isinstance(event, AlertFailed)]
        assert told == ["error=502", "error=503"]


async def test_a_receiver_that_hangs_delays_no_other_and_is_tried_again(make_house, autojump_clock):
    house = make_house(receivers=2)
    house.first.hangs = True
    async with house.run():
        await house.hear(rejection(), HaltOn(mode="nothing", reason="x"))
        assert len(house.receivers[1].taken) == 2
        await trio.sleep(120)
        assert house.view.value.receivers[0].last_failure == "no answer within 20 s"
        house.first.hangs = False
        await trio.sleep(120)
        assert sorted(house.first.ids) == sorted(house.receivers[1].ids)


async def test_a_message_that_a_receiver_never_takes_holds_no_other(house, autojump_clock):
    plain = house.first.send

    async def send(title, body):
        return "too long" if "rejected" in title else await plain(title, body)

    house.first.send = send
    async with house.run():
        await house.hear(rejection(), wait=900)
        await house.hear(HaltOn(mode="nothing", reason="x"))
        assert house.first.titles == ["trading is halted"]


async def test_a_receiver_that_comes_back_gets_all_that_waits_without_the_long_pause(house, autojump_clock):
    house.first.fails = "away"
    async with house.run():
        await house.hear(*map(unprotected, range(1, 6)), wait=3000)
        house.first.fails = None
        await house.hear(unprotected(6), wait=5)
        assert len(house.first.taken) == 6


async def test_after_five_minutes_without_a_message_the_receiver_is_a_problem_until_it_takes_one(house, autojump_clock):
    house.first.fails = "error=502"
    async with house.run():
        await house.hear(rejection(), wait=290)
        assert house.problems() == []
        await trio.sleep(20)
        (problem,) = house.problems()
        assert (problem.kind, problem.subject) == ("alerts", "1 (json)")
        assert "error=502" in problem.what
        house.first.fails = None
        await trio.sleep(300)
        assert house.problems() == []


async def test_what_was_not_taken_is_sent_after_a_kill_to_that_receiver_only(make_house, autojump_clock):
    house = make_house(receivers=2)
    house.first.fails = "away"
    async with house.run():
        await house.hear(rejection("margin"))
        assert len(house.receivers[1].taken) == 1
    house.first.fails = None
    async with house.run():
        await trio.sleep(5)
        assert house.first.ids == house.receivers[1].ids
        assert "margin" in house.first.bodies[0]
        assert len(house.receivers[1].taken) == 1
    async with house.run():
        await trio.sleep(900)
        assert len(house.first.taken) == 1


async def test_a_kill_between_taking_and_removing_repeats_the_message_with_the_same_id(house, autojump_clock):
    plain = house.first.send

    async def send(title, body):
        await plain(title, body)
        await trio.sleep_forever()  # killed here: the receiver has it, the store too

    house.first.send = send
    async with house.run():
        await house.hear(rejection())
    house.first.send = plain
    async with house.run():
        await trio.sleep(5)
    assert len(house.first.ids) == 2
    assert len({*house.first.ids}) == 1


async def test_what_gathers_in_a_window_survives_a_kill_and_comes_at_the_windows_end(house, autojump_clock):
    async with house.run():
        await house.hear(*[rejection(f"no {n}") for n in range(1)])
        await house.hear(*[rejection(f"no {n}") for n in range(1, 5)], wait=60)
        assert len(house.first.taken) == 1
    async with house.run():
        await house.hear(rejection("after the kill"), wait=100)
        assert len(house.first.taken) == 1
        await trio.sleep(200)
        assert house.first.titles[1:] == ["5 times rejected, last: order rejected at zerodha"]
        assert "after the kill" in house.first.bodies[1]


async def test_a_message_that_nobody_takes_for_a_day_is_given_up_and_said(house, autojump_clock):
    house.first.fails = "away"
    async with house.run():
        await house.hear(rejection(), wait=86_000)
        assert not [event for event in house.told if isinstance(event, AlertGivenUp)]
        await trio.sleep(1000)
        (told,) = [event for event in house.told if isinstance(event, AlertGivenUp)]
        assert (told.kind, told.receiver, told.words) == ("rejected", 1, "it was not taken for 24 hours")
        assert await house.durable.alert_messages() == ()
        assert house.view.value.given_up == 1
        assert house.first.tried < 320  # the pause grows to five minutes


async def test_what_waits_for_a_receiver_that_is_not_set_any_more_is_given_up_and_said(house, autojump_clock):
    house.first.fails = "away"
    async with house.run():
        await house.hear(rejection())
    house.receivers[0].number = 2  # another receiver: its name is another
    house.first.fails = None
    async with house.run():
        await trio.sleep(60)
        assert house.first.taken == []
        (told,) = [event for event in house.told if isinstance(event, AlertGivenUp)]
        assert told.receiver is None
        assert await house.durable.alert_messages() == ()


async def test_a_store_that_is_away_holds_no_message_and_gets_what_waits_when_it_is_back(
    make_house, caplog, autojump_clock
):
    house = make_house(receivers=2)
    house.durable.fail_with(DurableError("disk I/O error"))
    house.first.fails = "away"
    async with house.run():
        await house.hear(rejection(), wait=30)
        assert len(house.receivers[1].taken) == 1
        assert house.view.value.store_trouble == "disk I/O error"
        assert caplog.text.count("kept in memory") == 1
        house.durable.come_back()
        await trio.sleep(10)
        assert len(await house.durable.alert_messages()) == 1
        assert house.view.value.store_trouble is None
    house.first.fails = None
    async with house.run():
        await trio.sleep(5)
        assert len(house.first.taken) == 1


async def test_more_messages_than_fit_are_given_up_and_said(house, autojump_clock):
    house.first.fails = "away"
    async with house.run():
        await house.hear(*map(unprotected, range(MOST_MESSAGES + 3)), wait=5)
        told = [event.words for event in house.told if isinstance(event, AlertGivenUp)]
        assert told == ["too many messages wait"] * 3
        assert house.view.value.waiting == MOST_MESSAGES


async def test_an_event_that_is_heard_while_nothing_runs_is_told_when_the_actor_is_back(house, autojump_clock):
    async with house.run():
        inbox, tell = house.inbox, house.tell
    tell(HaltOff())
    assert [type(event) for event in inbox.take()] == [HaltOff]
