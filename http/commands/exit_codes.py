"""Exit codes of all commands, and the exit code of each error (architecture 11). Every error is one sentence on stderr."""

import sys
from collections.abc import Callable

from onebroker.http.commands.printable import printable

DONE = 0
WRONG_USE = 2
STORE_BUSY = 3
NOTHING_REACHABLE = 4
INTERRUPTED = 130
"""The exit code that a shell gives to a command that Ctrl-C ended."""


class CommandFailed(Exception):
    """A command cannot continue; the text is for the person who typed the command."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


def _codes() -> dict[type[Exception], int]:
    """Return error -> exit code. The errors are imported only when a command fails, so that light commands stay light."""
    from onebroker.actors.store.data_directory import DataDirectoryBusy
    from onebroker.actors.store.durable import DurableBusy, DurableError
    from onebroker.actors.store.embedded import NoServerBinary
    from onebroker.actors.store.interface import StoreError
    from onebroker.actors.store.server_address import StoreRefused
    from onebroker.config.settings import SettingsError
    from onebroker.http.listener.accept_loop import ListenError

    return {
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
    try:
        return command()
    except CommandFailed as error:
        return _say(error, error.code)
    except (Exception, BaseExceptionGroup) as error:
        codes = _codes()
        fixable = _fixable(error, (CommandFailed, *codes))
        if fixable is None:
            raise
        if isinstance(fixable, CommandFailed):
            return _say(fixable, fixable.code)
        return _say(fixable, next(code for kind, code in codes.items() if isinstance(fixable, kind)))


def _fixable(error: BaseException, expected: tuple[type[Exception], ...]) -> BaseException | None:
    """Return the expected error; the first of a group that holds no other errors; None for any other error."""
    if not isinstance(error, BaseExceptionGroup):
        return error if isinstance(error, expected) else None
    known, other = error.split(expected)
    return None if known is None or other is not None else _first(known)


def _say(error: BaseException, code: int) -> int:
    sys.stderr.write("".join(f"{printable(line)}\n" for line in str(error).split("\n")))
    return code


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
