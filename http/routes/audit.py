"""`GET /api/audit`: the lines of the audit, oldest first (docs/audit.md). The files are read in worker threads."""

from functools import partial
from pathlib import Path

import trio
from quart import Request
from quart.wrappers import Response

from onebroker.actors.audit.reading import BEGIN, NoSuchPlace, Page, Place, read_page, read_place
from onebroker.actors.engine.intake import request_fields
from onebroker.config.clock import IST
from onebroker.config.messages import audit as texts
from onebroker.config.messages import history as history_texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.answers import audit as answers
from onebroker.http.bodies import body_keys
from onebroker.http.history.moments import read_moment
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services

USUAL_LINES = 200
FROM = Parameter(
    name="from", place="query", doc="YYYY-MM-DD or a moment, India time without an offset: lines from then on; absent: from the first line that is kept."
)  # fmt: skip
CURSOR = Parameter(name="cursor", place="query", doc="The cursor of an earlier answer: lines after that answer.")
LIMIT = Parameter(
    name="limit", place="query", kind="integer", minimum=1, maximum=1000, doc=f"Most lines of one answer; {USUAL_LINES} when absent."
)  # fmt: skip
PARENT = Parameter(
    name="parent", place="query", doc="UUID: only lines of this parent, with its legs, and with the requests and intents that led to them."
)  # fmt: skip


async def audit(request: Request, services: Services) -> Response:
    body_keys.check_query(request.args, ROUTES[0])
    parse.refuse_repeats(request, FROM, CURSOR, LIMIT, PARENT)
    since = _since(parse.text(request.args, FROM))
    place = _place(parse.text(request.args, CURSOR), since)
    limit = parse.whole_number(request.args, LIMIT) or USUAL_LINES
    parent = parse.text(request.args, PARENT)
    if parent is not None:
        parent = request_fields.uuid_text(parent, texts.PARENT_ID)
    files = services.required_audit()
    read = partial(_encoded, files.folder, place, limit=limit, since=since, parent=parent)
    try:
        return render.encoded(await trio.to_thread.run_sync(read, limiter=files.readers))
    except NoSuchPlace:
        raise Refusal(400, texts.CURSOR_UNKNOWN) from None
    except OSError as error:
        raise Refusal(503, texts.unreadable(str(error))) from error


def _since(raw: str | None) -> str:
    """Return the moment as the lines write theirs; "" without one."""
    if raw is None:
        return ""
    moment = read_moment(raw)
    if moment is None:
        raise Refusal(400, history_texts.must_be_moment(FROM.name))
    try:
        return moment.astimezone(IST).isoformat(timespec="milliseconds")
    except OverflowError:  # the year 1 or 9999, moved to India
        raise Refusal(400, history_texts.must_be_moment(FROM.name)) from None


def _place(cursor: str | None, since: str) -> Place:
    if cursor is None:
        return Place(since[:10], 0) if since else BEGIN
    place = read_place(cursor)
    if place is None:
        raise Refusal(400, texts.CURSOR_UNKNOWN)
    return place


def _encoded(folder: Path, place: Place, *, limit: int, since: str, parent: str | None) -> bytes:
    """Read a page and return it as JSON. The lines are JSON already, and are not read again."""
    page: Page = read_page(folder, place, limit=limit, since=since, parent=parent)
    end = render.encode({"cursor": page.place.text(), "more": page.more})
    return b'{"lines":[' + b",".join(page.lines) + b"]," + end[1:]


ROUTES = (
    Route(
        method="GET",
        path="/api/audit",
        handler=audit,
        tag="audit",
        operation_id="get_audit",
        summary="The lines of the audit: what was asked, decided, sent, answered and filled",
        parameters=(FROM, CURSOR, LIMIT, PARENT),
        answers=(
            Answer(
                status=200,
                doc="`{lines, cursor, more}`, oldest first. `lines` are events (docs/events.md) with their place in the chain (docs/audit.md). "
                "`cursor` is for the next request, also at the present end; `more` says whether lines after it may be there now. With `parent` "
                "an answer may have fewer lines than `limit`, or none, though there are more.",
                type=answers.AuditPage,
                example=answers.EXAMPLE,
            ),
            failure(
                400,
                f"{history_texts.must_be_moment(FROM.name)} / {texts.CURSOR_UNKNOWN} / {texts.PARENT_ID} / "
                f"{shared.must_be_between(LIMIT.name, 1, 1000)} / {shared.must_be_given_once('<name>')}",
                texts.CURSOR_UNKNOWN,
            ),
            failure(503, texts.unreadable("<error>"), texts.unreadable("Input/output error")),
        ),
    ),
)  # fmt: skip
