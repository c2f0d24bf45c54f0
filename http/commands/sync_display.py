"""How `onebroker instruments sync` shows a running build: on a terminal a block that is rewritten in place, elsewhere plain lines."""

from collections.abc import Mapping
from typing import Any, TextIO

import msgspec

from onebroker.actors.catalogue.progress import BuildProgress, FetchState, Stage
from onebroker.http.commands.screen import MovingBlock, is_terminal

_STAGES = {
    Stage.IDLE: "waiting for the build",
    Stage.FETCHING: "fetching the brokers' files",
    Stage.BUILDING: "building the catalogue",
}
_ENDED = (FetchState.DONE, FetchState.FAILED)


class Display:
    """Takes each step of a build and writes what is new in it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = MovingBlock(out) if is_terminal(out) else None
        self._said: set[str] = set()

    def show(self, progress: Mapping[str, Any]) -> None:
        """Show a `BuildProgress` as the control socket delivers it."""
        step = msgspec.convert(progress, BuildProgress)
        if self._live is not None:
            self._live.show(_block(step))
        else:
            self._say(step)

    def close(self) -> None:
        """Leave the last block on the screen."""
        if self._live is not None:
            self._live.close()
        self._out.flush()

    def _say(self, step: BuildProgress) -> None:
        """Write what has not been written yet: stages, and brokers that ended. A build that had already ended is not shown."""
        if step.stage is Stage.IDLE:
            return
        ended = [line for code, line in _brokers(step) if step.brokers[code].state in _ENDED]
        lines = [_STAGES[Stage.FETCHING], *ended]
        if step.stage is Stage.BUILDING:
            lines.append(_STAGES[Stage.BUILDING])
        for line in lines:
            if line not in self._said:
                self._said.add(line)
                self._out.write(f"{line}\n")
        self._out.flush()


def _block(step: BuildProgress) -> list[str]:
    if step.stage is Stage.IDLE:
        return [_STAGES[Stage.IDLE]]
    return [*(line for _, line in _brokers(step)), _STAGES[step.stage]]


def _brokers(step: BuildProgress) -> list[tuple[str, str]]:
    """Return each broker's code and line."""
    width = max(map(len, step.brokers), default=0)
    lines = []
    for code, broker in step.brokers.items():
        words = [code.ljust(width), broker.state.value.ljust(8)]
        if broker.files or broker.bytes_fetched:
            files = f"{broker.files} file{'' if broker.files == 1 else 's'}"
            words.append(f"{_size(broker.bytes_fetched):>9}  {files}")
        if broker.why:
            words.append(broker.why)
        lines.append((code, "  ".join(words).rstrip()))
    return lines


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.1f} kB"
