"""`onebroker resume`: the running service lets trading go on after a halt (order-engine 4.10). It works without the API's access token.

Exit code 0 when trading goes on, 2 for wrong use, 4 when no service runs, or when the service says why trading is not resumed.
"""

import argparse

from onebroker.http.commands.exit_codes import DONE
from onebroker.http.commands.running_service import ask, say
from onebroker.http.control import desk_commands


def run(parsed: argparse.Namespace) -> int:
    say(parsed, ask(parsed, {"command": desk_commands.RESUME}), "trading goes on")
    return DONE
