"""What a build's progress shows: the bytes of each broker's files as they come, what failed, and the stages."""

from itertools import groupby

import attrs
import trio
import trio.testing

from onebroker.actors.catalogue.messages import BuildNow
from onebroker.actors.catalogue.progress import BrokerFetch, FetchState, Stage
from onebroker.brokers.requests import OutcomeUnknown


async def watch(progress, seen):
    version = -1
    while True:
        if progress.version != version:
            version = progress.version
            seen.append(progress.value)
        await progress.wait_newer(version)


class Slowly:
    """Lets a body come in pieces; the first attempt for upstox breaks after half of it."""

    def __init__(self, server):
        self.server = server
        self.broken = True

    async def send(self, request, timeout_seconds):
        answer = await self.server.send(attrs.evolve(request, body_to=None), timeout_seconds)
        half = len(answer.body) // 2
        await request.body_to.take(answer.body[:half])
        await trio.sleep(1)
        if self.broken and "upstox" in request.url:
            self.broken = False
            raise OutcomeUnknown("cut")
        await request.body_to.take(answer.body[half:])
        return attrs.evolve(answer, body=b"")


async def test_the_bytes_of_each_file_are_counted_once_also_when_it_is_fetched_twice(autojump_clock, world, market):
    house = world()
    house.server = Slowly(house.server)
    seen = []
    async with house.running() as running, trio.open_nursery() as nursery:
        nursery.start_soon(watch, running.progress, seen)
        await running.mapped()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    sizes = {code: len(body) for code, body in market.bodies.items()}
    assert all(set(one.brokers) == set(sizes) for one in seen if one.stage is not Stage.IDLE)
    shown = {code: {one.brokers[code].bytes_fetched for one in seen if code in one.brokers} for code in sizes}
    for code, size in sizes.items():
        assert shown[code] >= {0, size // 2, size}
        assert max(shown[code]) == size
        done = BrokerFetch(state=FetchState.DONE, files=1, bytes_fetched=size)
        assert seen[-1].brokers[code] == done
    stages = [stage for stage, _ in groupby(one.stage for one in seen)]
    assert stages[-3:] == [Stage.FETCHING, Stage.BUILDING, Stage.IDLE]
    assert stages[:-3] in ([], [Stage.IDLE])  # whether the watcher came before the build began


async def test_who_sees_a_build_end_finds_what_it_came_to(autojump_clock, world, market):
    async with world().running() as running:
        for stage in (Stage.BUILDING, Stage.IDLE):
            while running.progress.value.stage is not stage:
                await running.progress.wait_newer(running.progress.version)
        assert running.published.value.latest is not None


async def test_a_lost_broker_and_a_lost_file_say_why(autojump_clock, world, ten):
    codes = ("kotakneo", "zerodha")
    house = world(
        registry={code: ten.registry[code] for code in codes}, sources={code: ten.sources[code] for code in codes},
        server=ten.server(),
    )  # fmt: skip
    house.server.bodies["kotakneo", "cde_fo.csv"] = 404
    house.server.bodies["zerodha", "instruments"] = 503
    async with house.running() as running:
        await running.mapped()
        await running.address.ask(BuildNow, 60)
        brokers = running.progress.value.brokers
    assert brokers["zerodha"] == BrokerFetch(state=FetchState.FAILED, why="its file was answered with HTTP 503")
    kotak = brokers["kotakneo"]
    assert (kotak.state, kotak.files) == (FetchState.DONE, 7)  # six, and the list of them
    assert kotak.why == "cde_fo.csv: its file was answered with HTTP 404"
    assert attrs.asdict(kotak)["bytes_fetched"] == sum(
        len(body) for (code, name), body in ten.bodies.items() if code == "kotakneo" and name != "cde_fo.csv"
    )
