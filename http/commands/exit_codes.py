"""Exit codes of all commands, and the exit code of each error (architecture 11). Every error is one sentence on stderr."""

import sys
from collections.abc import Callable

from onebroker.actors.store.data_directory import DataDirectoryBusy
from onebroker.actors.store.durable import DurableBusy, DurableError
from onebroker.actors.store.embedded import NoServerBinary
from onebroker.actors.store.interface import StoreError
from onebroker.actors.store.server_address import StoreRefused
from onebroker.config.settings import SettingsError
from onebroker.http.commands.printable import printable
from onebroker.http.listener.accept_loop import ListenError

DONE = 0
WRONG_USE = 2
STORE_BUSY = 3
NOTHING_REACHABLE = 4


class CommandFailed(Exception):
    """A command cannot continue; the text is for the person who typed the command."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


_CODES: dict[type[Exception], int] = {
    SettingsError: WRONG_USE,
    NoServerBinary: WRONG_USE,
    StoreRefused: WRONG_USE,
    DataDirectoryBusy: STORE_BUSY,
    DurableBusy: STORE_BUSY,
    DurableError: NOTHING_REACHABLE,
    ListenError: NOTHING_REACHABLE,
    StoreError: NOTHING_REACHABLE,
}


def run_to_exit_code(command: Callable[[], int]) -> int:
    """Run a command. Errors that a person can fix become a sentence and their exit code; all other errors pass through."""
    expected: tuple[type[Exception], ...] = (CommandFailed, *_CODES)
    try:
        return command()
    except expected as error:
        return _say(error)
    except BaseExceptionGroup as group:
        known, other = group.split(expected)
        if known is None or other is not None:
            raise
        return _say(_first(known))


def _say(error: BaseException) -> int:
    sys.stderr.write("".join(f"{printable(line)}\n" for line in str(error).split("\n")))
    if isinstance(error, CommandFailed):
        return error.code
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), WRONG_USE)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
