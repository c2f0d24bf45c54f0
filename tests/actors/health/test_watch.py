"""The watch over the health looks once a second, and not before its own start is done."""

import trio

from onebroker.actors.health.problem_book import ProblemBook
from onebroker.actors.health.service_problems import actors_down
from onebroker.actors.health.watch import HealthWatch
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.config.clock import Clock


async def test_at_the_start_no_part_is_told_as_down_only_because_it_is_starting(autojump_clock):
    clock, heard, looks = Clock(), [], []
    async with open_supervisor(CrashLog(clock), seed=1) as supervisor:

        def parts():
            looks.append(trio.current_time())
            return supervisor.states()

        book = ProblemBook([lambda: actors_down(parts)], clock, Events(heard.append))
        await supervisor.start(Child(name="health watch", build=lambda: HealthWatch(book), policy=FOREVER))
        await trio.sleep(3.5)
    assert heard == []
    assert len(looks) == 3
