"""The framework's test client, which judges every answer of a route by the API's document."""

import gzip
from typing import Any
from urllib.parse import urlsplit

from quart.wrappers import Response
from quart_trio.testing.client import TrioClient

from tests.support.described import check_answer, check_status


class CheckedClient(TrioClient):
    """Fails a test that gets an answer that the document does not have. Tests whose documents are inventions take `TrioClient` itself."""

    async def open(self, path: str, *, method: str = "GET", **given: Any) -> Response:
        answer: Response = await super().open(path, method=method, **given)
        body = await answer.get_data(as_text=False)
        if answer.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.judge(method, urlsplit(path).path, answer.status_code, answer.content_type or "", body)
        return answer

    def judge(self, method: str, path: str, status: int, content_type: str, body: bytes) -> None:
        check_answer(method, path, status, content_type, body)


class OwnAnswersClient(CheckedClient):
    """For a route over an engine and a desk whose answers are inventions: judges the route's own failures whole, and else only the status."""

    def judge(self, method: str, path: str, status: int, content_type: str, body: bytes) -> None:
        if body.startswith(b'{"error":'):
            super().judge(method, path, status, content_type, body)
        else:
            check_status(method, path, status, content_type)
