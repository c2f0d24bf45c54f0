"""Problems with the clients' connections and with the files that the process may open, for the service's health."""

from collections.abc import Iterator

from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.http.listener.connection_limits import RESERVED_FILES, Connections

FEW_FILES = 2 * RESERVED_FILES
"""With fewer free files, the bound at which connections are refused (`RESERVED_FILES`) is near."""
COUNT_SECONDS = 10.0
"""Greatest age of the count of open files: the kernel lists them, so they are not counted at each look."""


def connection_problems(connections: Connections) -> Iterator[Problem]:
    """Yield the problems that all connections are in use, and that few files are free."""
    most = connections.most
    if connections.open >= most:
        yield Problem(
            kind=ProblemKind.CONNECTIONS,
            what=f"all {most} connections for clients are in use: a new client is refused, or an older connection without a token is closed",
            do="close clients that are not needed, or let clients share connections",
        )
    free = connections.free_files(COUNT_SECONDS)
    if free < FEW_FILES:
        yield Problem(
            kind=ProblemKind.FILES,
            what=f"the process can open only {free} more files; with {RESERVED_FILES} left no client can connect any more",
            do="raise the limit of open files (ulimit -n, LimitNOFILE), and start the service again",
        )
