"""The files of the screen: served whole, packed, known by a tag, and with a policy that lets them ask nobody else."""

import base64
import gzip
import hashlib
import re

import msgspec
import pytest

from onebroker.http.dashboard.page_files import CONTENT_TYPES, HERE

STATIC, VENDOR = HERE / "static", HERE / "vendor"
FILES = sorted(path.name for folder in (STATIC, VENDOR) for path in folder.iterdir() if path.suffix in CONTENT_TYPES)
OWN = sorted(STATIC.glob("*.js"))


async def test_the_page_is_at_the_root_and_has_no_script_of_its_own(client):
    answer = await client.get("/")
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")
    page = await answer.get_data(as_text=True)
    assert page == (STATIC / "index.html").read_text()
    for tag in re.findall("<script[^>]*>(.*?)</script>", page, re.DOTALL):
        assert tag == ""
    assert " style=" not in page


@pytest.mark.parametrize("name", FILES)
async def test_a_file_is_served_plain_packed_and_not_again(client, name):
    path = "/" if name == "index.html" else f"/dashboard/{name}"
    plain = await client.get(path)
    body = await plain.get_data(as_text=False)
    packed = await client.get(path, headers={"Accept-Encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(await packed.get_data(as_text=False)) == body
    assert packed.headers["ETag"] == plain.headers["ETag"]
    again = await client.get(path, headers={"If-None-Match": plain.headers["ETag"]})
    assert (again.status_code, await again.get_data(as_text=False)) == (304, b"")
    assert again.headers["ETag"] == plain.headers["ETag"]
    other = await client.get(path, headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


async def test_all_of_it_is_short(client):
    sizes = [len(gzip.compress(path.read_bytes())) for folder in (STATIC, VENDOR) for path in folder.iterdir()]
    assert sum(sizes) < 300_000


@pytest.mark.parametrize("path", ["/", "/dashboard/app.js", "/dashboard/style.css"])
async def test_the_policy_lets_it_ask_nobody_else(client, path):
    answer = await client.get(path)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)
    assert set(" ".join(policy.values()).split()) <= {"'none'", "'self'", "data:"}


@pytest.mark.parametrize("name", ["nothing.js", "VERSIONS.json", "LICENSE-htm", "..%2Froute.py", "%2e%2e%2froute.py"])
async def test_no_other_file_is_served(client, name):
    answer = await client.get(f"/dashboard/{name}")
    assert answer.status_code == 404


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_the_own_scripts_import_what_is_served_and_put_no_text_into_the_page_as_html(path):
    text = path.read_text()
    for name in re.findall(r'from "([^"]+)"', text):
        assert name.removeprefix("/dashboard/") in FILES
    for word in (
        "innerHTML",
        "dangerouslySetInnerHTML",
        "insertAdjacentHTML",
        "eval(",
        "document.write",
    ):
        assert word not in text
    # What a browser keeps for longer than its tab holds no token and no figure.
    assert ("localStorage" in text) == (path.name == "watchlist.js")
    assert not ("localStorage" in text and ("sessionStorage" in text or "api.js" in text))


def test_what_is_vendored_is_as_its_version_has_it():
    told = msgspec.json.decode((VENDOR / "VERSIONS.json").read_bytes())
    assert set(told) == {path.name for path in VENDOR.glob("*.js")}
    for name, each in told.items():
        digest = hashlib.sha512((VENDOR / name).read_bytes()).digest()
        assert each["file"] == "sha512-" + base64.b64encode(digest).decode()
