"""Turns exceptions into failure answers: `{"error": sentence, ...extra}` (rules 1.7.1), in one table.

Any other exception is a bug and gets the framework's HTML 500 page, as unknown paths and methods get its 404 and 405
(rules 1.7.2).
"""

from collections.abc import Callable

from quart.wrappers import Response

from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.store.interface import StoreError
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import render


def _itself(error: Refusal) -> Refusal:
    return error


def _not_running(error: ActorNotRunning) -> Refusal:
    if error.taken:
        return Refusal(504, shared.stopped_before_answer(error.name))
    return Refusal(503, shared.not_running(error.name))


def _timed_out(error: AskTimedOut) -> Refusal:
    return Refusal(504, shared.late(str(error))) if error.queued else Refusal(503, shared.busy(error.name))


def _store_failed(error: StoreError) -> Refusal:
    return Refusal(503, shared.redis_unreadable(str(error)))


REFUSALS: dict[type[Exception], Callable[..., Refusal]] = {
    Refusal: _itself,
    ActorNotRunning: _not_running,
    AskTimedOut: _timed_out,
    StoreError: _store_failed,
}
"""Exception -> the refusal that it means."""


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal that an exception of a kind in `REFUSALS` means."""
    return next(to_refusal for kind, to_refusal in REFUSALS.items() if isinstance(error, kind))(error)


def render_refusal(refusal: Refusal) -> Response:
    return render.json_answer(refusal.body(), refusal.status)
