"""The screen at `/`, and its files (http/dashboard/)."""

import trio
from quart import Request
from quart.wrappers import Response

from onebroker.config.refusal import Refusal
from onebroker.http.dashboard.page_files import CONTENT_SECURITY_POLICY, INDEX, PageFile, page_files
from onebroker.http.packing import accepts_gzip
from onebroker.http.route import Answer, Parameter, Route, TokenRule, failure
from onebroker.http.services import Services

NO_SUCH_FILE = "the screen has no such file"
NAME = Parameter(name="name", place="path", required=True, doc="Name of a file of the screen, such as `app.js`.")


class _Files:
    """The files, once the first request has had them read."""

    def __init__(self) -> None:
        self._read: dict[str, PageFile] | None = None
        self._turn = trio.Lock()

    async def get(self, name: str) -> PageFile | None:
        async with self._turn:
            if self._read is None:
                self._read = await trio.to_thread.run_sync(page_files)
        return self._read.get(name)


_files = _Files()


async def index(request: Request, services: Services) -> Response:
    return await _answer(request, INDEX)


async def file(request: Request, services: Services) -> Response:
    return await _answer(request, str((request.view_args or {})["name"]))


async def _answer(request: Request, name: str) -> Response:
    found = await _files.get(name)
    if found is None:
        raise Refusal(404, NO_SUCH_FILE)
    if request.if_none_match.contains(found.tag):
        answer = Response(b"", status=304)
        del answer.headers["Content-Type"]
    else:
        is_packed = accepts_gzip(request.headers.get("Accept-Encoding"))
        answer = Response(found.packed if is_packed else found.body, content_type=found.content_type)
        if is_packed:
            answer.headers["Content-Encoding"] = "gzip"
    answer.set_etag(found.tag)
    answer.headers["Vary"] = "Accept-Encoding"
    answer.headers["Cache-Control"] = "no-cache"  # a browser asks each time whether its copy is still good
    answer.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


_UNCHANGED = Answer(status=304, doc="The reader's copy is still good.")
_PAGE = "<!doctype html><html lang=en><title>onebroker</title>"

ROUTES = (
    Route(
        method="GET",
        path="/",
        handler=index,
        token=TokenRule.OPEN,
        tag="documents",
        operation_id="get_dashboard",
        summary="The screen",
        answers=(
            Answer(status=200, doc="A page that asks this API", content_type="text/html", type=str, example=_PAGE),
            _UNCHANGED,
        ),
    ),
    Route(
        method="GET",
        path="/dashboard/<name>",
        handler=file,
        token=TokenRule.OPEN,
        tag="documents",
        operation_id="get_dashboard_file",
        summary="A script or a style of the screen",
        parameters=(NAME,),
        answers=(
            *(
                Answer(status=200, doc=doc, content_type=kind, type=str, example=example)
                for doc, kind, example in (
                    ("A script", "text/javascript", "export const now = () => Date.now();"),
                    ("A style", "text/css", "body { margin: 0 }"),
                    ("The page", "text/html", _PAGE),
                )
            ),
            _UNCHANGED,
            failure(404, NO_SUCH_FILE),
        ),
        counted_as="/",
    ),
)
