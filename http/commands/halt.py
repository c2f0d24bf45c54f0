"""`onebroker halt`: the running service stops trading (order-engine 4.10). It works without the API's access token.

Exit code 0 when trading is halted and nothing is under way, 1 when it is halted but a message that was leaving has not been answered, 2
for wrong use, 4 when no service runs, or when the service says why it is not halted or not stored.
"""

import argparse

from onebroker.actors.engine.intake.desk_fields import HALT_WORD, halt_reason
from onebroker.config.refusal import Refusal
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.running_service import NOT_ALL_DONE, ask, say
from onebroker.http.control import desk_commands


def run(parsed: argparse.Namespace) -> int:
    try:
        reason = halt_reason({"reason": parsed.reason})
    except Refusal as refusal:
        raise CommandFailed(refusal.sentence, WRONG_USE) from None
    request = {"command": desk_commands.HALT, "confirm": HALT_WORD, "mode": parsed.mode, "reason": reason}
    answer = ask(parsed, request)
    lines = [f"trading is halted ({answer['mode']}) since {answer['since']}: {answer['reason']}"]
    if answer["entries_under_way"]:
        lines.append("a message that was leaving has not been answered yet: look at the order book")
    say(parsed, answer, *lines)
    return NOT_ALL_DONE if answer["entries_under_way"] else DONE
