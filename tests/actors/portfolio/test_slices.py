"""How a build shares the loop (architecture 12, Rebuild): short slices while it is quiet, longer ones when others take their time."""

from types import SimpleNamespace

import trio

from onebroker.actors.portfolio.assembling import MOST_SLICE_SECONDS, SLICE_SECONDS, run_steps

STEPS, STEP_SECONDS = 60, 0.001
TWICE = 2
"""trio runs what is ready in any order, so that two slices may follow each other."""


class Loop:
    """A processor clock that moves with the work done: a step of the build, and each turn of somebody else."""

    def __init__(self, others_seconds):
        self.seconds, self.others_seconds = 0.0, others_seconds
        self.slices = [0.0]

    def steps(self):
        for _ in range(STEPS):
            self.seconds += STEP_SECONDS
            self.slices[-1] += STEP_SECONDS
            yield
        return "built"

    async def others(self):
        while True:
            self.seconds += self.others_seconds
            self.slices.append(0.0)
            await trio.lowlevel.checkpoint()

    async def build(self):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.others)
            await trio.lowlevel.checkpoint()
            began = self.seconds
            assert await run_steps(self.steps(), SimpleNamespace(thread_seconds=lambda: self.seconds)) == "built"
            nursery.cancel_scope.cancel()
        return self.seconds - began


async def test_on_a_quiet_loop_nobody_waits_longer_than_a_slice():
    loop = Loop(others_seconds=0.0)
    await loop.build()
    assert max(loop.slices) <= TWICE * (SLICE_SECONDS + STEP_SECONDS)


async def test_on_a_loaded_loop_the_build_is_not_crowded_out_and_still_lets_others_in():
    loop = Loop(others_seconds=0.03)
    took = await loop.build()
    assert took < 10 * STEPS * STEP_SECONDS
    assert max(loop.slices) <= TWICE * (MOST_SLICE_SECONDS + STEP_SECONDS)
    assert len([one for one in loop.slices if one]) > 2
