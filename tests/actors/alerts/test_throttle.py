"""The throttle: one message of a kind and subject in five minutes, nothing lost, and the quiet hours."""

from datetime import time

import trio
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.alerts.news import News
from onebroker.actors.alerts.throttle import WINDOW_SECONDS, QuietHours, Throttle
from onebroker.config.alert_kinds import AlertKind
from onebroker.config.events import HaltOn, LoginNeeded, LoginRefused, OrderRejected
from tests.actors.alerts.test_delivery import rejection

NIGHT = QuietHours(begins=time(22), ends=time(7))


async def test_two_hundred_rejections_in_a_minute_are_two_messages(house, autojump_clock):
    async with house.run():
        for number in range(200):
            await house.hear(rejection(f"no {number}", broker=("zerodha", "dhan")[number % 2]), wait=0.3)
        await trio.sleep(250)
        assert house.first.titles == [
            "order rejected at zerodha",
            "199 times rejected, last: order rejected at dhan",
        ]
        assert "no 199" in house.first.bodies[1]
        apart = house.first.taken[1][0] - house.first.taken[0][0]
        assert round(apart, 3) >= WINDOW_SECONDS  # epoch seconds have no finer step than a microsecond


async def test_rejections_told_in_one_moment_are_one_message(house, autojump_clock):
    async with house.run():
        await house.hear(*[rejection(f"no {number}") for number in range(200)], wait=900)
        assert house.first.titles == ["200 times rejected, last: order rejected at zerodha"]


async def test_subjects_do_not_hold_each_other_back(house, autojump_clock):
    async with house.run():
        for broker in ("zerodha", "dhan", "fyers"):
            await house.hear(LoginNeeded(broker=broker, why="ended", by_person=True))
        assert len(house.first.taken) == 3


async def test_in_quiet_hours_only_urgent_kinds_leave_and_the_rest_comes_as_one_message(make_house, autojump_clock):
    house = make_house(quiet=NIGHT)
    async with house.run():
        await house.sleep_until(23)
        await house.hear(rejection("one"), LoginRefused(broker="dhan", words="Invalid TOTP"))
        await house.hear(HaltOn(mode="nothing", reason="enough"), wait=600)
        await house.hear(rejection("two"))
        assert house.first.titles == ["trading is halted"]
        await house.sleep_until(6, 59, days=1)
        assert len(house.first.taken) == 1
        await house.sleep_until(7, 1)
        assert house.first.titles[1:] == ["3 in the quiet hours"]
        body = house.first.bodies[1]
        assert [
            word for word in ("23 Nov 23:00:0", "zerodha: one", "Invalid TOTP", "zerodha: two") if word not in body
        ] == []
        await house.hear(rejection("three"))
        assert len(house.first.taken) == 3


async def test_what_waits_for_the_morning_survives_a_kill(make_house, autojump_clock):
    house = make_house(quiet=NIGHT)
    async with house.run():
        await house.sleep_until(23)
        await house.hear(rejection("before"))
    async with house.run():
        await house.hear(rejection("after"))
        await house.sleep_until(7, 1, days=1)
        assert house.first.titles == ["2 in the quiet hours"]


async def test_what_gathers_past_the_begin_of_the_quiet_hours_waits_for_their_end(make_house, autojump_clock):
    house = make_house(quiet=NIGHT)
    async with house.run():
        await house.sleep_until(21, 58)
        await house.hear(rejection("at once"), wait=30)
        await house.hear(rejection("held"), wait=3600)
        assert len(house.first.taken) == 1
        await house.sleep_until(7, 1, days=1)
        assert house.first.titles[1:] == ["1 in the quiet hours"]


async def test_many_quiet_news_are_counted_and_the_list_stays_short(make_house, autojump_clock):
    house = make_house(quiet=NIGHT)
    async with house.run():
        await house.sleep_until(23)
        for number in range(100):
            await house.hear(OrderRejected(broker="dhan", parent=None, leg=None, words=f"no {number}"), wait=1)
        await house.sleep_until(7, 1, days=1)
        assert house.first.titles == ["100 in the quiet hours"]
        assert "and 60 more" in house.first.bodies[0]
        assert len(house.first.bodies[0].splitlines()) == 42


def test_quiet_hours_within_a_day_and_over_midnight():
    noon = QuietHours(begins=time(12), ends=time(13))
    day = 1_795_370_400.0 - 1_795_370_400.0 % 86_400 - 5.5 * 3600  # 00:00 IST
    assert [noon.end(day + hour * 3600) for hour in (11.9, 12, 12.9, 13)] == [
        None,
        day + 13 * 3600,
        day + 13 * 3600,
        None,
    ]
    assert [NIGHT.end(day + hour * 3600) for hour in (21.9, 23, 6.9, 7)] == [
        None,
        day + 31 * 3600,
        day + 7 * 3600,
        None,
    ]
    assert QuietHours().end(day) is None


KEYS = [(AlertKind.REJECTED, ""), (AlertKind.UNPROTECTED, "P1"), (AlertKind.UNPROTECTED, "P2")]


@given(
    steps=st.lists(st.tuples(st.floats(0, 400), st.lists(st.sampled_from(range(len(KEYS))), max_size=4)), max_size=40),
    cuts=st.sets(st.integers(0, 40)),
    hour=st.integers(0, 23),
    quiet=st.booleans(),
)
def test_no_two_messages_of_a_window_within_five_minutes_and_nothing_is_lost(steps, cuts, hour, quiet):
    """`cuts`: before these steps the service is killed. It goes on with the messages that the outbox holds."""
    now = 1_795_370_400.0 + hour * 3600
    hours = NIGHT if quiet else QuietHours()
    throttle, waiting, left = Throttle(hours, frozenset({"r"})), {}, []
    windows_from = 0

    def step(news):
        carrying, leaving = throttle.step(news, now)
        waiting.update({message.message_id: message for message in carrying})
        for message in leaving:
            del waiting[message.message_id]
            left.append((now, message, windows_from))

    told = 0
    for number, (seconds, chosen) in enumerate(steps):
        if number in cuts:
            throttle, windows_from = Throttle(hours, frozenset({"r"})), number
            for message in waiting.values():
                throttle.take_over(message, now)
        now += seconds
        step([News(kind=KEYS[n][0], subject=KEYS[n][1], title="t", lines=(), at=now) for n in chosen])
        told += len(chosen)
    for _ in range(200):
        now += 600
        step([])
    assert waiting == {}
    assert sum(message.count for _, message, _ in left) == told
    assert all(at >= message.due_at for at, message, _ in left)
    last = {}
    for at, message, life in left:
        before = last.get((message.key, life))  # a kill forgets the windows whose message has left
        assert before is None or message.is_quiet or at - before >= WINDOW_SECONDS
        last[message.key, life] = at
