"""`/docs/try`: the files of Swagger UI are those of its version, and the page asks nobody else."""

import base64
import hashlib
import re

import msgspec
import pytest

from onebroker.http.docs_page import try_page

VERSIONS = msgspec.json.decode((try_page.FOLDER / "VERSIONS.json").read_bytes())


def test_every_vendored_file_is_as_its_version_has_it():
    found = {
        path.name: "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
        for path in try_page.FOLDER.iterdir()
        if path.name != "VERSIONS.json"
    }
    assert found == VERSIONS["files"]
    assert {try_page.SCRIPT, try_page.STYLE, "LICENSE", "NOTICE"} <= set(found)


async def read(client, path):
    answer = await client.get(path)
    assert answer.status_code == 200
    return answer, await answer.get_data(as_text=False)


async def test_the_page_names_only_files_of_the_service(client):
    answer, page = await read(client, "/docs/try")
    assert answer.content_type == "text/html; charset=utf-8"
    named = re.findall(r'(?:src|href)="([^"]+)"', page.decode())
    assert len(named) == 3
    for path in named:
        file, body = await read(client, path)
        assert body
        assert file.content_type.startswith("text/css" if path.endswith("css") else "text/javascript")


@pytest.mark.parametrize(
    "path", ["/docs/try", "/docs/try/start.js", "/docs/try/swagger-ui.js", "/docs/try/swagger-ui.css"]
)
async def test_no_other_host_may_be_asked(client, path):
    answer, _ = await read(client, path)
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    for words in policy.values():
        assert set(words.split()) <= {"'none'", "'self'", "data:"}


async def test_the_outside_validator_is_switched_off_and_the_document_is_ours(client):
    _, start = await read(client, "/docs/try/start.js")
    assert b"validatorUrl: null" in start
    assert b'url: "/openapi.json"' in start


@pytest.mark.parametrize(("path", "name"), [("swagger-ui.js", try_page.SCRIPT), ("swagger-ui.css", try_page.STYLE)])
async def test_the_vendored_files_are_served_as_they_are(client, path, name):
    _, body = await read(client, f"/docs/try/{path}")
    assert body == (try_page.FOLDER / name).read_bytes()
