"""Which instruments go on which market-data connection. Pure, except for the event that signals a change.

An instrument stays on its connection, so a change of the list moves no other instrument.
"""

from collections.abc import Mapping

import attrs
import trio

from onebroker.brokers.records import Listing


@attrs.frozen
class Difference:
    """The listings that one connection must still subscribe to, and those that it must give up."""

    subscribe: tuple[Listing, ...]
    unsubscribe: tuple[Listing, ...]


class WatchList:
    """The wanted instruments spread over `sockets` connections of at most `per_socket` each."""

    def __init__(self, sockets: int, per_socket: int) -> None:
        self._per_socket = per_socket
        self._shares: list[dict[str, Listing]] = [{} for _ in range(sockets)]
        self._changed = trio.Event()
        self.version = 0
        self.dropped = 0
        """Number of wanted instruments for which no connection had room at the last change."""

    def want(self, listings: tuple[Listing, ...]) -> None:
        """Replace the wanted list."""
        wanted = {listing.broker_token: listing for listing in listings}
        for share in self._shares:
            for token in [token for token in share if token not in wanted]:
                del share[token]
        placed = {token for share in self._shares for token in share}
        waiting = [listing for token, listing in wanted.items() if token not in placed]
        for share in self._shares:
            room = self._per_socket - len(share)
            for listing in waiting[:room]:
                share[listing.broker_token] = listing
            waiting = waiting[room:] if room > 0 else waiting
        self.dropped = len(waiting)
        self.version += 1
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    def size(self, socket: int) -> int:
        return len(self._shares[socket])

    def difference(self, socket: int, subscribed: Mapping[str, Listing]) -> Difference:
        """Return what connection number `socket` must change, given its `subscribed` listings."""
        share = self._shares[socket]
        return Difference(
            tuple(listing for token, listing in share.items() if token not in subscribed),
            tuple(listing for token, listing in subscribed.items() if token not in share),
        )

    async def wait_newer(self, version: int) -> int:
        """Wait until the list is newer than `version`; return its version."""
        while self.version <= version:
            await self._changed.wait()
        return self.version
