"""`onebroker token`: prints the access token of the running service, alone on standard output; how long it is valid is said on standard error.

The service gives it over its control socket, as connect does: a valid token is joined, so no program's token ends. The key and the secret are not
needed here, because only the owner of the data directory can open the socket. Exit code 4 when no service runs, or it has no API key and secret.
"""

import argparse
import sys

from onebroker.http.commands.exit_codes import DONE
from onebroker.http.commands.running_service import ask
from onebroker.http.commands.screen import write_json
from onebroker.http.control.reading_commands import TOKEN


def run(parsed: argparse.Namespace) -> int:
    answer = ask(parsed, {"command": TOKEN}, without="")
    if parsed.json:
        write_json(sys.stdout, answer)
    else:
        sys.stdout.write(f"{answer['access-token']}\n")
        sys.stdout.flush()
        sys.stderr.write(f"valid until {answer['expires_at']} IST\n")
    return DONE
