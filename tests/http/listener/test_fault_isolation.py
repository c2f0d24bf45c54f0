"""The failure of one connection ends no other: neither an error nor a panic of a library, alone or among the tasks of the connection."""

import logging

import pytest
import trio
from polars.exceptions import PanicException

from onebroker.http.listener.fault_isolation import contained


def panic() -> None:
    raise PanicException("a mistake of the library")


def fail() -> None:
    raise ValueError("a mistake of ours")


@pytest.mark.parametrize("fault", [panic, fail])
@pytest.mark.parametrize("below", [False, True])
async def test_a_fault_is_logged_and_contained(fault, below, caplog):
    async def run():
        if not below:
            fault()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await trio.lowlevel.checkpoint()
            fault()

    with caplog.at_level(logging.ERROR):
        await contained(run, "the connection")
    assert "the connection failed" in caplog.text
    assert "a mistake of" in caplog.text


async def test_a_cancellation_and_an_interrupt_pass():
    async def interrupt():
        async with trio.open_nursery():
            raise KeyboardInterrupt

    with pytest.raises(BaseExceptionGroup):
        await contained(interrupt, "the connection")
    with trio.CancelScope() as scope:
        scope.cancel()
        await contained(trio.sleep_forever, "the connection")
    assert scope.cancelled_caught
