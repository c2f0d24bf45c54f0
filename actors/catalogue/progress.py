"""The progress of a build, for clients that watch it: its stage, and each broker's files as they arrive. Published by the catalogue actor.

It is separate from the catalogue's state, which changes seldom and wakes all tasks that wait for its changes.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

import attrs

from onebroker.actors.kernel.published import Published


class Stage(StrEnum):
    """The stage of a build."""

    IDLE = "idle"
    FETCHING = "fetching"
    BUILDING = "building"
    """Work in the worker process, and after it putting the files in place."""


class FetchState(StrEnum):
    """The progress of one broker's files."""

    WAITING = "waiting"
    FETCHING = "fetching"
    DONE = "done"
    FAILED = "failed"


@attrs.frozen(kw_only=True)
class BrokerFetch:
    """One broker's files."""

    state: FetchState = FetchState.WAITING
    files: int = 0
    """Number of files that have arrived completely."""
    bytes_fetched: int = 0
    """Bytes after decoding of the content encoding; includes files still arriving."""
    why: str = ""
    """Why the fetch failed, or which files failed."""


@attrs.frozen(kw_only=True)
class BuildProgress:
    """One moment of a build; between builds the last build's progress, with stage `idle`."""

    stage: Stage = Stage.IDLE
    brokers: Mapping[str, BrokerFetch] = attrs.field(factory=dict)


class ProgressKeeper:
    """Publishes each step of a build. Only the catalogue actor and its download write to it."""

    def __init__(self, published: Published[BuildProgress]) -> None:
        self._published = published

    def begin(self, codes: Iterable[str]) -> None:
        self._published.set(BuildProgress(stage=Stage.FETCHING, brokers={code: BrokerFetch() for code in codes}))

    def stage(self, stage: Stage) -> None:
        self._published.set(attrs.evolve(self._published.value, stage=stage))

    def arriving(self, code: str) -> Callable[[int], None]:
        """Return the function that reports the bytes of the broker's next file, counted from its beginning."""
        before = self._of(code).bytes_fetched

        def arrived(count: int) -> None:
            broker = attrs.evolve(self._of(code), state=FetchState.FETCHING, bytes_fetched=before + count)
            self._change(code, broker)

        arrived(0)
        return arrived

    def came(self, code: str) -> None:
        """Note that one more file of the broker has arrived completely."""
        self._change(code, attrs.evolve(self._of(code), files=self._of(code).files + 1))

    def done(self, code: str, why: str = "") -> None:
        self._change(code, attrs.evolve(self._of(code), state=FetchState.DONE, why=why))

    def failed(self, code: str, why: str) -> None:
        self._change(code, attrs.evolve(self._of(code), state=FetchState.FAILED, why=why))

    def _of(self, code: str) -> BrokerFetch:
        return self._published.value.brokers.get(code, BrokerFetch())

    def _change(self, code: str, broker: BrokerFetch) -> None:
        progress = self._published.value
        self._published.set(attrs.evolve(progress, brokers={**progress.brokers, code: broker}))
