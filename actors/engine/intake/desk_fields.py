"""Fields of a halt and of a flatten, for the API and for the control socket. Pure; raises Refusal 400. A null counts as absent."""

from collections.abc import Mapping

from onebroker.actors.store.durable import HaltMode
from onebroker.config.messages import halts as texts
from onebroker.config.messages import order_changes, orders, shared
from onebroker.config.refusal import Refusal

FLATTEN_WORD = "FLATTEN"
HALT_WORD = "HALT"
MOST_REASON = 200
"""Characters of a halt's reason."""


def check_flatten_word(body: Mapping[str, object]) -> None:
    """Refuse a flatten whose `confirm` is not exactly the word."""
    if body.get("confirm") != FLATTEN_WORD:
        raise Refusal(400, order_changes.CONFIRM)


def check_halt_word(body: Mapping[str, object]) -> None:
    """Refuse a halt whose `confirm` is not exactly the word."""
    if body.get("confirm") != HALT_WORD:
        raise Refusal(400, texts.CONFIRM)


def halt_mode(body: Mapping[str, object]) -> HaltMode:
    """Return `mode`, in any case; `reduce_only` when absent."""
    given = body.get("mode")
    if given is None:
        return HaltMode.REDUCE_ONLY
    try:
        return HaltMode(given.strip().lower() if isinstance(given, str) else "")
    except ValueError:
        raise Refusal(400, orders.must_be_one_of("mode", HaltMode)) from None


def halt_reason(body: Mapping[str, object]) -> str:
    """Return `reason` without blanks around it: required, 1 to 200 characters."""
    given = body.get("reason")
    if given is None:
        raise Refusal(400, shared.is_required("reason"))
    reason = given.strip() if isinstance(given, str) else ""
    if not 1 <= len(reason) <= MOST_REASON:
        raise Refusal(400, texts.reason_length(MOST_REASON))
    return reason
