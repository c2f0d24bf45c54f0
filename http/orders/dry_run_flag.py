"""The dry-run flag of every order route, from the body or the query. Pure; raises Refusal 400.

In other fields a JSON null counts as absent. Here a null is refused, because a caller who writes it meant to say
something.
"""

from collections.abc import Mapping
from typing import Any

from onebroker.actors.engine.intake.request_fields import dry_run
from onebroker.http import parse
from onebroker.http.route import Parameter

DRY_RUN = Parameter(
    name="dry_run",
    place="query",
    kind="boolean",
    doc="Build the request and send nothing; also in a JSON body, which wins.",
)


def read_dry_run(body: Mapping[str, Any], args: Mapping[str, str]) -> bool:
    """Return the flag from the body, or else from the query (true, false, 1, 0, yes, no). Rules 2.4.4, 2.4.5: the body wins."""
    return dry_run(body) if DRY_RUN.name in body else parse.flag(args, DRY_RUN) or False
