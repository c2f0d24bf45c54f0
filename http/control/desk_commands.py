"""What the command line asks of the desk over the control socket: halt, resume and flatten, without the API's access token.

The requests are `{"command": "halt", "confirm": "HALT", "mode": MODE, "reason": TEXT}`, `{"command": "resume"}` and
`{"command": "flatten", "confirm": "FLATTEN", "dry_run": "true"}`; any `dry_run` but "" makes a dry run. The fields are checked as the API
checks them, and unknown fields are refused. `done` is the body that the API answers.
"""

from collections.abc import Callable, Mapping
from typing import Any

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import DeskMessage, Flatten, HaltTrading, ResumeTrading
from onebroker.actors.engine.intake.desk_fields import check_flatten_word, check_halt_word, halt_mode, halt_reason
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut, Reply
from onebroker.config.clock import Clock
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal

HALT, RESUME, FLATTEN = "halt", "resume", "flatten"
SECONDS = {HALT: 35.0, RESUME: 35.0, FLATTEN: 185.0}
"""How long a command waits for the desk: as long as the API does."""
_KEYS = {HALT: {"confirm", "mode", "reason"}, RESUME: set[str](), FLATTEN: {"confirm", "dry_run"}}
"""Command -> its fields."""
_MOST_SHOWN = 64
"""Characters of an unknown field that a refusal repeats."""

Make = Callable[[Reply[EngineAnswer]], DeskMessage]


async def answer(request: Mapping[str, str], desk: Address[DeskMessage], clock: Clock) -> dict[str, Any]:
    """Answer one of the three commands. What has begun goes on if the client leaves."""
    try:
        make = _message(request, clock)
    except Refusal as refusal:
        return {"error": refusal.sentence}
    try:
        said = await desk.ask(make, SECONDS[request["command"]])
    except ActorNotRunning as error:
        sentence = shared.stopped_before_answer if error.taken else shared.not_running
        return {"error": sentence(error.name)}
    except AskTimedOut as error:
        return {"error": shared.late(str(error)) if error.queued else shared.busy(error.name)}
    body = dict(said.body)
    return {"error": body["error"]} if "error" in body else {"done": body}


def _message(request: Mapping[str, str], clock: Clock) -> Make:
    """Return what to ask the desk. Raises Refusal 400."""
    routed, command = clock.monotonic(), request["command"]
    for name in request.keys() - _KEYS[command] - {"command"}:  # a misspelt `dry_run` would flatten
        raise Refusal(400, order_texts.takes_no(f"a {command}", name[:_MOST_SHOWN]))
    match command:
        case "halt":
            check_halt_word(request)
            mode, reason = halt_mode(request), halt_reason(request)
            return lambda reply: HaltTrading(mode=mode, reason=reason, reply=reply)
        case "flatten":
            check_flatten_word(request)
            dry_run = bool(request.get("dry_run"))
            return lambda reply: Flatten(dry_run=dry_run, routed=routed, reply=reply)
        case _:
            return lambda reply: ResumeTrading(reply=reply)
