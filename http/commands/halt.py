"""`onebroker halt`: the running service stops trading (order-engine 4.10). It works without the API's access token.

Exit code 0 when trading is halted and nothing is under way, 1 when it is halted but a message that was leaving has not been answered, 2
for wrong use, 4 when no service runs, or when the service says why it is not halted or not stored.
"""

import argparse

from onebroker.actors.engine.intake.desk_fields import HALT_WORD, halt_reason
from onebroker.actors.store.durable import HaltMode
from onebroker.config.refusal import Refusal
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.running_service import NOT_ALL_DONE, add_options, ask, say
from onebroker.http.control import desk_commands


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("halt", help="stop trading until `onebroker resume`; works without the access token")
    parser.add_argument(
        "--mode",
        choices=[mode.value for mode in HaltMode],
        default=HaltMode.REDUCE_ONLY.value,
        help="what still leaves: exits and cancels (reduce_only, the default), or only cancels (nothing)",
    )
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why; refused orders repeat it")
    add_options(parser)
    parser.set_defaults(run=run)


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
