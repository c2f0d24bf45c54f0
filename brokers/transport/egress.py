"""The address family or local address from which the connections to a broker leave, where a setting fixes it.

Brokers take orders only from the public address that the account has registered. On a host with IPv4 and IPv6 the system
chooses between the two; the setting fixes the choice. This module knows no broker.
"""

import ipaddress
import socket
from typing import Final, Literal

import attrs
import trio

from onebroker.brokers.requests import NotSent

Family = Literal["any", "ipv4", "ipv6"]

_WILDCARDS: Final = {"ipv4": "0.0.0.0", "ipv6": "::"}
"""Binding to the wildcard of a family fixes the family; the system still chooses the address."""
_NAMES: Final = {"ipv4": "IPv4", "ipv6": "IPv6"}
_DISCARD: Final = 9
"""Any port works for a route lookup: nothing is sent."""


@attrs.frozen(kw_only=True)
class Egress:
    """What the connections to one broker are bound to."""

    family: Family = "any"
    source_address: str | None = None
    """An address of this machine; None = the system's choice."""

    def __str__(self) -> str:
        if self.source_address is not None:
            return f"source address {self.source_address}"
        return "either address family" if self.family == "any" else f"{_NAMES[self.family]} only"

    @property
    def local_address(self) -> str | None:
        """The address that a socket is bound to before it connects; None = not bound. It fixes the family of the remote address."""
        return self.source_address or _WILDCARDS.get(self.family)

    @property
    def bound_family(self) -> socket.AddressFamily | None:
        """The family of `local_address`."""
        local = self.local_address
        if local is None:
            return None
        return family_of(local)

    def require(self, host: str) -> None:
        """Raise `NotSent` when this egress cannot reach `host`: the source address is not this machine's, or the host is
        an address of the other family."""
        local, family = self.local_address, self.bound_family
        if local is None or family is None:
            return
        if _literal_family(host) not in (None, family):
            raise NotSent(f"its address is of another family than the settings allow ({self})")
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.bind((local, 0))
        except OSError as error:
            raise NotSent(f"no connection can leave by {self}: {error.strerror or type(error).__name__}") from error

    def leaves_by(self, remote: str) -> str | None:
        """Return the local address from which a connection to the address `remote` leaves; None when no connection can. Sends nothing."""
        family = family_of(remote)
        if self.bound_family not in (None, family):
            return None
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                if self.local_address is not None:
                    probe.bind((self.local_address, 0))
                probe.connect((remote, _DISCARD))
                name: str = probe.getsockname()[0]
                return name
        except OSError:
            return None


async def local_addresses(egress: Egress, host: str) -> tuple[str, ...]:
    """Return the local addresses from which connections to `host` leave, one for each family of the host. Sends nothing
    to it.

    Raises `NotSent` when the host has no address, or none that this egress can reach.
    """
    egress.require(host)
    try:
        found = await trio.socket.getaddrinfo(host, _DISCARD, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent("its host has no address") from error
    remotes = {family: str(address[0]) for family, *_, address in reversed(found)}
    leaving = tuple(local for remote in remotes.values() if (local := egress.leaves_by(remote)) is not None)
    if not leaving:
        raise NotSent(f"no connection to its host can leave by {egress}")
    return leaving


def family_of(address: str) -> socket.AddressFamily:
    """Return the family of an address. Raises ValueError."""
    return socket.AF_INET if ipaddress.ip_address(address).version == 4 else socket.AF_INET6


def _literal_family(host: str) -> socket.AddressFamily | None:
    """Return the family of a host that is an address; None for a name."""
    try:
        return family_of(host)
    except ValueError:
        return None


ANY_EGRESS: Final = Egress()
