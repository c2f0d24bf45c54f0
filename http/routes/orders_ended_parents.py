"""`GET /api/orders/parents/ended`: the parents that ended on a day, read from Redis like `GET /api/orders/parents` (rules 2.4.6)."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.shown.stored_parents import End, ended_parents, read_end
from onebroker.config.messages import audit as cursor_texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.answers import parents as answers
from onebroker.http.bodies import body_keys
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services

USUAL_PARENTS = 50
ON = Parameter(
    name="on",
    place="query",
    required=True,
    doc="YYYY-MM-DD: a broking day, from 07:00 to 07:00 India time. A parent is kept for 8 days.",
)
LIMIT = Parameter(
    name="limit",
    place="query",
    kind="integer",
    minimum=1,
    maximum=200,
    doc=f"Most parents of one answer; {USUAL_PARENTS} when absent.",
)
CURSOR = Parameter(
    name="cursor", place="query", doc="The cursor of an earlier answer: parents that ended before those of that answer."
)


async def ended(request: Request, services: Services) -> Response:
    body_keys.check_query(request.args, ROUTES[0])
    parse.refuse_repeats(request, ON, LIMIT, CURSOR)
    parse.required_text(request.args, ON)
    on = parse.day(request.args, ON)
    limit = parse.whole_number(request.args, LIMIT) or USUAL_PARENTS
    after = _after(parse.text(request.args, CURSOR))
    page = await ended_parents(services.required_orders().store, str(on), limit=limit, after=after)
    shown = {"parents": page.parents, "cursor": None if page.last is None else page.last.text(), "more": page.more}
    return render.json_answer({**shown, "unreadable_parents": page.unreadable} if page.unreadable else shown)


def _after(cursor: str | None) -> End | None:
    if cursor is None:
        return None
    end = read_end(cursor)
    if end is None:
        raise Refusal(400, cursor_texts.CURSOR_UNKNOWN)
    return end


ROUTES = (
    Route(
        method="GET",
        path="/api/orders/parents/ended",
        handler=ended,
        tag="orders",
        operation_id="get_ended_parents",
        summary="Parents of the order engine that ended on a day",
        parameters=(ON, LIMIT, CURSOR),
        counted_as="/api/orders/parents",
        answers=(
            Answer(
                status=200,
                doc="`{parents, cursor, more}`, the newest end first, and `unreadable_parents` (ids) when there are any.",
                type=answers.EndedParents,
                example=answers.ENDED_EXAMPLE,
            ),
            failure(
                400,
                f"{shared.is_required(ON.name)} / {shared.must_be_date(ON.name)} / {cursor_texts.CURSOR_UNKNOWN} / "
                f"{shared.must_be_between(LIMIT.name, 1, 200)} / {shared.must_be_given_once('<name>')}",
                shared.must_be_date(ON.name),
            ),
            failure(503, "Redis could not be read.", shared.redis_unreadable("no answer within 2 s")),
        ),
    ),
)
