"""The changes of one event, collected and made durable in one write. Listeners are told only afterwards."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from onebroker.brokers.simulator.exchange.accounts import Account
from onebroker.brokers.simulator.exchange.journal import Journal, Row

_ACCOUNT, _COUNTERS = "account", "counters"


class Counters(msgspec.Struct):
    """Running numbers of the exchange."""

    priority: int = 0
    trade: int = 0
    exchange_order: int = 0


class Changes:
    """Rows and announcements of the open transaction."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        stored = dict(journal.load(_COUNTERS)).get("all")
        self.counters = msgspec.json.decode(stored, type=Counters) if stored else Counters()
        self._depth = 0
        self._rows: dict[tuple[str, str], Row] = {}
        self._accounts: dict[str, Account] = {}
        self._announcements: list[Callable[[], None]] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything kept inside, in one write, when the outermost of nested transactions ends.

        The write also happens when an exception ends the transaction, because the changes in memory are already made.
        """
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._commit()

    def keep(self, row: Row) -> None:
        """Write a row with this transaction. If a key comes twice, the last row counts."""
        self._rows[row.kind, row.key] = row

    def keep_account(self, account: Account) -> None:
        """Write the account with this transaction, in its state at the end."""
        self._accounts[account.code] = account

    def announce(self, announcement: Callable[[], None]) -> None:
        """Call `announcement` after the transaction is on disk."""
        self._announcements.append(announcement)

    def _commit(self) -> None:
        accounts, self._accounts = self._accounts, {}
        rows, self._rows = list(self._rows.values()), {}
        rows.extend(Row(_ACCOUNT, account.code, account.stored()) for account in accounts.values())
        if rows:
            rows.append(Row(_COUNTERS, "all", msgspec.json.encode(self.counters)))
            self._journal.write(rows)
        announcements, self._announcements = self._announcements, []
        for announcement in announcements:
            announcement()
