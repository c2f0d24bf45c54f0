"""Which instruments the feeds should carry, and how much each is needed. Pure."""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Protocol

from onebroker.actors.kernel.mailbox import Address
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.messages import SessionMessage
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.broker import Broker
from onebroker.config.vocabulary import is_finished

ASKED_SECONDS = 900.0
"""How long an instrument is watched after it was last read."""
MOST_ASKED = 20_000
"""The most instruments watched only because of a recent read: one request may name the whole catalogue."""


class Session(Protocol):
    """One broker as the quote book reaches it."""

    @property
    def broker(self) -> Broker: ...

    @property
    def address(self) -> Address[SessionMessage]: ...

    @property
    def view(self) -> Published[SessionView]: ...


class Need(IntEnum):
    """Why an instrument is watched; the smaller the number, the more it is needed."""

    OPEN = 0
    """An order of it is open."""
    HELD = 1
    """A position or a holding."""
    FOLLOWED = 2
    """A parent, a stream or a recorder follows it."""
    ASKED = 3
    """A caller read it lately."""


Wanted = Mapping[str, Need]
"""instrument_id -> need, the most needed first."""
IdOf = Callable[[str, str], str | None]
"""(broker, broker_token) -> instrument_id: the catalogue."""


class OwnInstruments:
    """The instruments that are open or held at any broker. A broker's rows are scanned again only when they or the catalogue changed:
    order books have thousands of rows, and the caller asks every second."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[tuple[object, ...], frozenset[str], frozenset[str]]] = {}

    def needs(self, views: Mapping[str, SessionView], id_of: IdOf, catalogue: object) -> dict[str, Need]:
        """Return instrument_id -> OPEN or HELD; `catalogue` is the snapshot behind `id_of`."""
        opened: dict[str, Need] = {}
        held: dict[str, Need] = {}
        for code, view in views.items():
            source = (view.orders, view.positions, view.holdings, catalogue)
            known = self._of.get(code)
            if known is None or any(old is not new for old, new in zip(known[0], source, strict=True)):
                known = self._of[code] = (source, *_own(code, view, id_of))
            opened.update(dict.fromkeys(sorted(known[1]), Need.OPEN))
            held.update(dict.fromkeys(sorted(known[2]), Need.HELD))
        return opened | {instrument_id: Need.HELD for instrument_id in held if instrument_id not in opened}


def _own(code: str, view: SessionView, id_of: IdOf) -> tuple[frozenset[str], frozenset[str]]:
    unfinished = (row.instrument_token for row in view.orders.values() if not is_finished(row.status))
    owned = (row.instrument_token for rows in (view.positions, view.holdings) for row in rows)
    return _ids(code, unfinished, id_of), _ids(code, owned, id_of)


def _ids(code: str, tokens: Iterable[str], id_of: IdOf) -> frozenset[str]:
    found = (id_of(code, token) for token in set(tokens))
    return frozenset(instrument_id for instrument_id in found if instrument_id is not None)


def wanted(own: Mapping[str, Need], followed: Iterable[str], asked: Iterable[str]) -> dict[str, Need]:
    """Return all wanted instruments, the most needed first. Among equally needed instruments the order has no meaning."""
    needs = dict(own)
    for instrument_id in followed:
        needs.setdefault(instrument_id, Need.FOLLOWED)
    for instrument_id in asked:
        needs.setdefault(instrument_id, Need.ASKED)
    return needs
