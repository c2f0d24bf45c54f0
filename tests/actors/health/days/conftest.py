"""The whole tree over one day, for the problems that it finds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from onebroker.actors.catalogue.in_process_builder import InProcessBuilder
from onebroker.actors.health.problem import Standing
from onebroker.actors.sessions.brokers_in_service import brokers_in_service
from onebroker.actors.sessions.messages import ExchangeRedirect
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.tree import Tree, TreeInputs, open_tree
from onebroker.brokers.broker import LoginKind
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, WireRequest
from onebroker.brokers.simulator.host.inprocess import InProcessTransport


class Watch:
    """A running tree and its problems."""

    def __init__(self, day, tree: Tree, transport: InProcessTransport) -> None:
        self.day, self.tree, self._transport = day, tree, transport

    def problems(self) -> dict[tuple[str, str | None, str], Standing]:
        """The problems of this moment, by kind, broker and subject."""
        looked = self.tree.problems.look()
        return {(one.problem.kind.value, one.problem.broker, one.problem.subject): one for one in looked}

    def kinds(self) -> set[tuple[str, str | None]]:
        return {(kind, broker) for kind, broker, _ in self.problems()}

    async def log_in(self, code: str) -> None:
        """What a person does."""
        handle = self.tree.sessions[code]
        if handle.broker.login_kind is LoginKind.UNATTENDED:
            return
        page = handle.broker.login.login_page(self.tree.brokers[code].access)
        answer = await self._transport.send(WireRequest(kind=CallKind.LOGIN, method="GET", url=page), 10)
        exchange = partial(ExchangeRedirect, redirect=answer.headers["location"])
        await handle.address.ask(lambda reply: exchange(reply=reply), 10)


@pytest.fixture
def watch(day, tmp_path):
    """Open a tree over `day`, without logins."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Watch]:
        settings = day.settings()
        async with InProcessTransport(day.simulator) as transport:
            brokers = brokers_in_service(
                build_registry(), settings.brokers, exit_share=settings.engine.exit_share, day_limits=False
            )
            inputs = TreeInputs(
                settings=settings,
                brokers=brokers,
                clock=day.clock,
                calendar=day.calendar,
                transports=dict.fromkeys(brokers, transport),
                store=day.store,
                durable=MemoryDurable(),
                data_dir=tmp_path,
                owner="owner",
                catalogue_builder=InProcessBuilder(build_registry()),
                seed=1,
                events=day.events,
            )
            async with open_tree(inputs) as tree:
                yield Watch(day, tree, transport)

    return opened
