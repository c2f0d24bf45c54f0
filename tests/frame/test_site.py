"""The documentation site: its navigation has every page, its examples are read as the service reads them, and it asks no other host."""

import base64
import hashlib
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
import yaml

from onebroker.actors.sessions.brokers_in_service import require_credentials
from onebroker.brokers.broker import LoginKind
from onebroker.brokers.registry import build_registry
from onebroker.config.settings import build_settings
from onebroker.http.commands.parsers.all_commands import build_parser
from onebroker.http.commands.service_process import known_brokers, second_hosts
from tests.support.concept_pictures import FOLDER, PICTURES
from tests.support.site_build import build_site
from tests.support.site_pages import OUTSIDE, site_place, site_text
from tests.support.svg_drawing import Drawing, OutsideError

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FIRST_BROKER = DOCS / "first-broker"
HEADINGS = [
    "Get keys",
    "Redirect address",
    "Registered address (static IP)",
    "Settings",
    "Each morning",
    "Quirks",
]
REGISTRY = build_registry()
NEW_PAGES = [DOCS / "index.md", DOCS / "concepts.md", *sorted(FIRST_BROKER.glob("*.md"))]
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
"""Their blocks are run by tests/demo/test_how_to.py, which fails for a block that it does not run."""
LONGEST_LINE = 150
BLOCK = re.compile(r"(<!--[^>]*-->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {3}(?=[ `<]|\S)", re.MULTILINE)
"""A block below a step of a how-to page stands three spaces to the right."""
TEXTS = ("", "text")
"""Words of a fence whose block is no program."""


class _Config(yaml.SafeLoader):
    """Reads mkdocs.yml; a Python object in it, which mkdocs makes itself, is None."""


_Config.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


def settings_of_site() -> Mapping[str, object]:
    return yaml.load((ROOT / "mkdocs.yml").read_text(), Loader=_Config)


def in_navigation(entry: object) -> Iterator[str]:
    """The pages that an entry of the navigation names, in order."""
    match entry:
        case str():
            yield entry
        case list():
            for inner in entry:
                yield from in_navigation(inner)
        case dict():
            for inner in entry.values():
                yield from in_navigation(inner)


# Navigation and links


def test_the_navigation_names_every_page_once() -> None:
    named = list(in_navigation(settings_of_site()["nav"]))
    pages = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    assert sorted(named) == sorted([*pages, *OUTSIDE.values()])


def test_the_navigation_has_its_sections_in_order() -> None:
    nav = settings_of_site()["nav"]
    assert isinstance(nav, list)
    assert [title for entry in nav for title in entry] == [
        "Home", "Try it", "First real broker", "Concepts", "How to", "Order types", "API, stream, client", "Operations",
        "Internals",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("page", "written", "in_site"),
    [
        ("docs/alerts.md", "[screen](../README.md)", "[screen](repository/readme.md)"),
        ("docs/rules/README.md", "[docs](..) and [it](../../CHANGELOG.md#x)", "[docs](../index.md) and [it](../repository/changes.md#x)"),
        ("README.md", "![a](docs/pictures/overview.png)", "![a](../pictures/overview.png)"),
        ("README.md", "[rules](docs/rules/README.md#one)", "[rules](../rules/README.md#one)"),
        ("docs/charges.md", "[`config/charges/statutory.py`](../config/charges/statutory.py)", "`config/charges/statutory.py`"),
        ("docs/charges.md", "[the\nrows](../config/sections.py)", "the\nrows (`config/sections.py`)"),
        ("docs/a-day.md", "[rules]: rules/\n", "[rules]: rules/README.md\n"),
        ("docs/a-day.md", "[a](https://one.example/b.md) [b](#here)", "[a](https://one.example/b.md) [b](#here)"),
        ("docs/a-day.md", "- one\n  - two\n", "- one\n    - two\n"),
        ("docs/a-day.md", "```\n  [x](../README.md)\n```\n", "```\n  [x](../README.md)\n```\n"),
    ],
)  # fmt: skip
def test_a_link_leads_in_the_site_where_it_leads_in_the_repository(page: str, written: str, in_site: str) -> None:
    assert site_text(page, written) == in_site


def test_a_page_outside_docs_is_in_the_site_only_if_it_is_listed() -> None:
    assert site_place("README.md") == OUTSIDE["README.md"]
    assert site_place("docs/brokers/dhan.md") == "brokers/dhan.md"
    assert site_place("tests/data/dhan/README.md") is None
    assert [page for page in OUTSIDE if not (ROOT / page).is_file()] == []


# The pages of the first broker


def pages_of_brokers() -> list[Path]:
    return [page for page in sorted(FIRST_BROKER.glob("*.md")) if page.stem != "index"]


def test_every_broker_has_its_page() -> None:
    assert {page.stem for page in pages_of_brokers()} == set(REGISTRY)


@pytest.mark.parametrize("page", pages_of_brokers(), ids=lambda page: page.stem)
def test_a_brokers_page_has_the_six_headings(page: Path) -> None:
    assert re.findall(r"^##+ (.+)$", page.read_text(), re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("page", pages_of_brokers(), ids=lambda page: page.stem)
def test_the_settings_of_a_page_can_be_used(page: Path) -> None:
    broker = REGISTRY[page.stem]
    section = page.read_text().split("\n## Settings\n")[1].split("\n## ")[0]
    read = [
        build_settings(tomllib.loads(text), known_brokers=known_brokers(REGISTRY), second_hosts=second_hosts(REGISTRY))
        for _, language, text in BLOCK.findall(section)
        if language == "toml"
    ]
    assert [list(settings.brokers) for settings in read] == [[broker.code]] * len(read)
    given = [frozenset(settings.brokers[broker.code].credentials) for settings in read]
    assert given == [broker.credential_keys, *broker.other_credential_keys]
    for settings in read:
        require_credentials(REGISTRY, settings.brokers)


@pytest.mark.parametrize("page", pages_of_brokers(), ids=lambda page: page.stem)
def test_the_settings_that_a_page_has_as_comments_exist(page: Path) -> None:
    broker = REGISTRY[page.stem]
    blocks = [text for _, language, text in BLOCK.findall(page.read_text()) if language == "toml"]
    lines = [line.removeprefix("# ") for text in blocks for line in text.splitlines() if line.startswith("# ")]
    for line in lines:
        build_settings(
            {"brokers": {broker.code: tomllib.loads(line)}},
            known_brokers=known_brokers(REGISTRY), second_hosts=second_hosts(REGISTRY),
        )  # fmt: skip
    assert ("algo_id" in page.read_text().split("## Settings")[1].split("## ")[0]) == (broker.algo_field is not None)


@pytest.mark.parametrize("page", pages_of_brokers(), ids=lambda page: page.stem)
def test_a_page_says_who_logs_in_and_whether_an_address_is_registered(page: Path) -> None:
    text = page.read_text()
    parts = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    assisted = REGISTRY[page.stem].login_kind is LoginKind.ASSISTED
    assert (f"onebroker login {page.stem} " in parts["Each morning"]) == (assisted or page.stem == "groww")
    assert parts["Each morning"].strip().startswith("Nothing.") == (not assisted and page.stem != "groww")
    assert ("needs none" in parts["Redirect address"]) == (not assisted)
    assert ("repeats no `state`" in parts["Redirect address"]) == (
        assisted and not REGISTRY[page.stem].login_repeats_state
    )
    known = REGISTRY[page.stem].address_rule != ""
    assert parts[HEADINGS[2]].strip().startswith("Whether") == (not known)


# Pictures


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_concepts_is_what_its_code_draws(name: str) -> None:
    written = (FOLDER / f"{name}.svg").read_text()
    assert written == PICTURES[name]().text(), "run `PYTHONPATH=. python tests/support/concept_pictures.py`"
    assert f"](pictures/concepts/{name}.svg)" in (DOCS / "concepts.md").read_text()


def test_no_picture_is_left_that_nothing_draws() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.svg" for name in PICTURES}


def test_nothing_of_a_drawing_lies_outside_its_frame() -> None:
    drawing = Drawing(100, 50, "small")
    drawing.words(0, 20, "short")
    for draw in (
        lambda: drawing.words(0, 20, "too long for a hundred"), lambda: drawing.words(99, 20, "it", anchor="middle"),
        lambda: drawing.words(0, 5, "high"), lambda: drawing.line([(0, 0), (0, 51)]),
        lambda: drawing.box(90, 0, 11, 10), lambda: drawing.dot(2, 20),
    ):  # fmt: skip
        with pytest.raises(OutsideError):
            draw()


def test_the_vendored_script_is_the_one_of_its_package() -> None:
    folder = DOCS / "assets" / "iframe-worker"
    files = msgspec.json.decode((folder / "VERSIONS.json").read_bytes())["files"]
    hashes = {
        name: "sha512-" + base64.b64encode(hashlib.sha512((folder / name).read_bytes()).digest()).decode()
        for name in files
    }
    assert hashes == files
    assert {path.name for path in folder.iterdir()} == {*files, "VERSIONS.json"}


# Examples


def blocks() -> list[tuple[Path, str, str, str]]:
    """(page, the comment before the block, its language, its text) of the pages but the how-to pages."""
    return [(page, *found) for page in NEW_PAGES for found in BLOCK.findall(page.read_text())]


def how_to_blocks() -> list[tuple[Path, str, str, str]]:
    return [(page, *found) for page in HOW_TO for found in BLOCK.findall(INDENTED.sub("", page.read_text()))]


def test_every_example_is_read_by_a_test_or_says_why_not() -> None:
    for page, comment, language, text in blocks():
        if language in TEXTS:
            continue
        where = f"{page.name}: {text}"
        if comment:
            assert re.match(r"<!-- not run: .{10,} -->\n", comment), where
        if language == "python":
            compile(text, page.name, "exec")
        elif language == "json":
            msgspec.json.decode(text)
        elif language == "toml":
            tomllib.loads(text)
        else:
            assert language == "sh", where
            if not comment:
                check_commands(text)


def check_commands(text: str) -> None:
    """Parse each line as a command of onebroker, with the parser of the command line."""
    parser = build_parser()
    for line in text.splitlines():
        words = shlex.split(line)
        assert words[0] == "onebroker", line
        parser.parse_args(words[1:])


def test_a_wrong_command_is_found() -> None:
    with pytest.raises(SystemExit):
        check_commands("onebroker config write onebroker.toml")


def test_the_python_of_the_first_order_calls_what_the_client_has() -> None:
    (text,) = [text for _, _, language, text in blocks() if language == "python"]
    methods = (ROOT / "clients" / "python" / "src" / "onebroker_client" / "sync_methods.py").read_text()
    called = set(re.findall(r"\bclient\.(\w+)\(", text))
    assert called == {"get_details", "get_ltp", "place_order"}
    assert [name for name in called if f"def {name}(" not in methods] == []


def test_every_program_and_command_of_a_how_to_page_can_be_read() -> None:
    found = how_to_blocks()
    assert len(found) > 2 * len(HOW_TO) - 2
    methods = (ROOT / "clients" / "python" / "src" / "onebroker_client" / "sync_methods.py").read_text()
    for page, comment, language, text in found:
        where = f"{page.name}: {text}"
        assert not comment or re.match(r"<!-- not run: .{10,} -->\n", comment), where
        if language == "python":
            program = page.read_text().split("```python\n")[1].split("```")[0]
            compile(program, page.name, "exec")
            called = set(re.findall(r"\bclient\.(\w+)\(", program)) - {"stream"}
            assert [name for name in called if f"def {name}(" not in methods] == [], where
        elif language == "toml":
            build_settings(
                tomllib.loads(text), known_brokers=known_brokers(REGISTRY), second_hosts=second_hosts(REGISTRY)
            )
        elif language == "sh":
            check_commands("".join(line for line in text.splitlines(True) if line.startswith("onebroker ")))
        else:
            assert language in TEXTS, where


def test_the_index_of_the_how_to_pages_names_each_once() -> None:
    index = (DOCS / "how-to" / "index.md").read_text()
    rows = re.findall(r"^\| .+ \| \[.+\]\((.+\.md)\) \|$", index, re.MULTILINE)
    assert sorted(rows) == [page.name for page in HOW_TO if page.stem != "index"]


@pytest.mark.parametrize("page", [*NEW_PAGES, *HOW_TO], ids=lambda page: page.stem)
def test_the_lines_of_a_page_are_short(page: Path) -> None:
    prose = BLOCK.sub("", INDENTED.sub("", page.read_text()) if page in HOW_TO else page.read_text())
    assert [line for line in prose.splitlines() if len(line) > LONGEST_LINE and not line.startswith("|")] == []


# The built site


class _Hosts(HTMLParser):
    """Collects the addresses from which a browser loads something by itself."""

    LOADS: Mapping[str, tuple[str, ...]] = {
        "link": ("href",), "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"),
        "object": ("data",), "video": ("src", "poster"), "audio": ("src",), "embed": ("src",),
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value for name, value in attrs if value and name in self.LOADS.get(tag, ())]


def other_hosts(html: str) -> list[str]:
    hosts = _Hosts()
    hosts.feed(html)
    return [address for address in hosts.loaded if re.match(r"(https?:)?//", address)]


def test_an_address_at_another_host_is_found() -> None:
    assert other_hosts(
        '<a href="https://a.example/"></a><script src="//b.example/x.js"></script><img src="a.png">'
    ) == ["//b.example/x.js"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


def test_the_site_has_every_page_and_asks_no_other_host(site: Path) -> None:
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    named = [name.removesuffix(".md") for name in in_navigation(settings_of_site()["nav"])]
    assert [name for name in named if f"{re.sub(r'README$', 'index', name)}.html" not in pages] == []
    found = {name: hosts for name in sorted(pages) if (hosts := other_hosts((site / name).read_text()))}
    assert found == {}


def test_the_styles_of_the_site_load_nothing_from_other_hosts(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    assert [str(one) for one in styles if re.search(r"url\(\s*['\"]?(https?:)?//|@import\s", one.read_text())] == []


def test_the_search_works_without_a_server(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text().startswith("var __index = ")
    assert (site / "assets" / "iframe-worker" / "shim.js").read_bytes() == (
        DOCS / "assets" / "iframe-worker" / "shim.js"
    ).read_bytes()
