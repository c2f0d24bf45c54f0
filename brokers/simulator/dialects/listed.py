"""A broker's names for the contracts listed today, made again when the exchange's list changes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.world.model import Contract


class Named(Protocol):
    """A broker's name of one contract."""

    @property
    def contract(self) -> Contract: ...


_Name = TypeVar("_Name", bound=Named)


class Listed(ABC, Generic[_Name]):
    """The names used by one account's broker. A subclass adds the broker's own keys in `_index`, and reads them after `_refresh`."""

    def __init__(self, account: AccountView, name_of: Callable[[Contract], _Name | None]) -> None:
        """`name_of` returns None for a contract that the broker does not offer."""
        self._account, self._name_of = account, name_of
        self._contracts: Sequence[Contract] = ()
        self._by_id: Mapping[str, _Name] = {}
        self._index(())

    @property
    def by_id(self) -> Mapping[str, _Name]:
        """By instrument_id, in the order of listing."""
        self._refresh()
        return self._by_id

    def in_files(self) -> Collection[_Name]:
        """Return the names that the broker's instrument files hold, in the order of listing."""
        missing = self._account.unlisted()
        names = self.by_id
        return names.values() if not missing else [name for key, name in names.items() if key not in missing]

    def _refresh(self) -> None:
        """Name the listed contracts again when the list has changed (a new day)."""
        contracts = self._account.contracts()
        if contracts is self._contracts:
            return
        self._contracts = contracts
        names = [name for name in map(self._name_of, contracts) if name is not None]
        self._by_id = {name.contract.instrument_id: name for name in names}
        self._index(names)

    @abstractmethod
    def _index(self, names: Sequence[_Name]) -> None:
        """Keep the names by the broker's own keys."""
