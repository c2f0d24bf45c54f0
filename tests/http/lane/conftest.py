"""Two listeners over one world."""

from collections.abc import AsyncIterator

import pytest

from tests.support.lane_twins import Twins, World, new_world, open_twins


@pytest.fixture
async def world() -> World:
    return new_world()


@pytest.fixture
async def twins(world: World) -> AsyncIterator[Twins]:
    async with open_twins(world) as opened:
        yield opened
