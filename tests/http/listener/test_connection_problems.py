"""Connections and files that run short are problems of the service's health."""

import trio

from onebroker.http.listener.connection_limits import Connections
from onebroker.http.listener.connection_problems import COUNT_SECONDS, FEW_FILES, connection_problems


def kinds(connections: Connections) -> list[str]:
    return [problem.kind.value for problem in connection_problems(connections)]


async def test_all_connections_in_use_are_a_problem_until_one_is_closed(autojump_clock):
    connections = Connections(most=2, limit=lambda: 10_000, count_files=lambda: 10)
    with connections.holding("192.0.2.1", lambda: None):
        assert kinds(connections) == []
        with connections.holding("192.0.2.2", lambda: None):
            assert kinds(connections) == ["connections"]
        assert kinds(connections) == []


async def test_few_free_files_are_a_problem_and_files_are_counted_seldom(autojump_clock):
    counted = [100]
    counts = []

    def count() -> int:
        counts.append(counted[0])
        return counted[0]

    connections = Connections(limit=lambda: 1_000, count_files=count)
    for _ in range(9):
        assert kinds(connections) == []
        await trio.sleep(COUNT_SECONDS / 10)
    assert len(counts) == 1
    counted[0] = 1_000 - FEW_FILES + 1
    await trio.sleep(COUNT_SECONDS)
    assert kinds(connections) == ["files"]
    counted[0] = 100
    await trio.sleep(COUNT_SECONDS)
    assert kinds(connections) == []
