"""Every citation leads to a heading, a rule or a row in the repository: of the rule book, of the design, of a broker's page."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULE_BOOK = ROOT / "docs" / "rules"
DESIGN = ROOT / "docs" / "design"
BROKERS = ROOT / "docs" / "brokers"

_GAP = r"(?:\s+(?:#\s*)?)"
"""A citation may go on in the next line, of a comment too."""
_AND = rf"(?:,{_GAP}and{_GAP}|,{_GAP}|{_GAP}and{_GAP}|{_GAP}to{_GAP})"
_RULE = r"\d\.\d+(?:\.\d+)*(?:-\d+(?:\.\d+)+|-\d+)?"
_SECTION = r"\d{1,2}[a-z]?(?:\.\d{1,2})*(?:-\d+(?:\.\d+)+)?(?!\d)"
RULES = re.compile(rf"\brules{_GAP}({_RULE}(?:{_AND}{_RULE})*)", re.IGNORECASE)
ROW = r"\d+[a-z]?\b"
ROWS = re.compile(rf"\brows?{_GAP}({ROW}(?:(?:{_AND}|-){ROW})*)")
MARKS = re.compile(r"\b([KN][1-9]\d?)\b")
HEADING = re.compile(r"^#+ (\d+[a-z]?(?:\.\d+)*)\b", re.MULTILINE)
NEVER = {
    "a citation of the specification, which is not here": re.compile(r"§|\b[Ss]pec(?:ification)?[ -]?[12]\b"),
    "a broker's page without its name": re.compile(r"\bsheets?\b", re.IGNORECASE),
}
ENGINE = ("actors/engine/", "tests/actors/engine/", "docs/design/order-engine.md")
"""Where row, K and N stand for those of the order engine's design."""


def design(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}{_GAP}({_SECTION}(?:{_AND}{_SECTION})*)")


def texts() -> Iterator[tuple[str, str]]:
    """Every page and module that is tracked: (path, text)."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in listed.splitlines():
        if (
            path.endswith((".py", ".md", ".toml"))
            and not path.startswith("tests/data/")
            and path != "tests/frame/test_citations.py"
        ):
            yield path, (ROOT / path).read_text()


def numbers(said: str) -> Iterator[str]:
    """The single numbers of a citation; of a range its two ends."""
    for number in re.findall(_RULE + r"|" + _SECTION, said):
        first, _, last = number.partition("-")
        if "." in last:
            yield first
            yield last
        else:
            yield number


def lost(pattern: re.Pattern[str], known: set[str], at_least: int) -> list[tuple[str, str]]:
    """Citations of `pattern` that lead nowhere: (path, number). There are some: a pattern that finds few has come apart from the texts."""
    cited = [(path, number) for path, text in texts() for said in pattern.findall(text) for number in numbers(said)]
    assert len(cited) >= at_least
    return [(path, number) for path, number in cited if number not in known]


def headings(page: Path) -> set[str]:
    return set(HEADING.findall(page.read_text()))


def rules() -> set[str]:
    text = "".join(page.read_text() for page in sorted(RULE_BOOK.glob("*.md")))
    return set(HEADING.findall(text)) | set(re.findall(r"\*\*(\d\.[\d.]+-\d+)\*\*", text))


def test_every_rule_has_one_place() -> None:
    text = "".join(page.read_text() for page in sorted(RULE_BOOK.glob("*.md")))
    found = re.findall(r"^(?:- |\| )\*\*(\d\.[\d.]+-\d+)\*\*", text, re.MULTILINE)
    assert len(found) > 800
    assert sorted(number for number in set(found) if found.count(number) > 1) == []


def test_every_cited_rule_stands_in_the_rule_book() -> None:
    assert lost(RULES, rules(), 300) == []


def test_every_cited_section_of_the_design_is_a_heading() -> None:
    for page, at_least in (("order-engine", 300), ("architecture", 80)):
        assert lost(design(page), headings(DESIGN / f"{page}.md"), at_least) == []


def test_every_cited_lesson_is_told() -> None:
    told = set(re.findall(r"^(?:#+ |\| )?(\d+)[.) |]", (DESIGN / "lessons.md").read_text(), re.MULTILINE))
    assert lost(design("lessons?"), told, 25) == []


def test_every_cited_row_and_mark_of_the_engine_stands_in_its_tables() -> None:
    page = (DESIGN / "order-engine.md").read_text()
    rows = set(re.findall(r"^\| (\d+[a-z]?) \|", page, re.MULTILINE))
    marks = set(re.findall(r"^\|? ?\**([KN]\d+)\b", page, re.MULTILINE)) | set(re.findall(r"\*\*([KN]\d+)\*\*", page))
    assert len(rows) > 40
    missing = [
        (path, number)
        for path, text in texts()
        if path.startswith(ENGINE)
        for said in re.findall(rf"order-engine[^)\n]*?{ROWS.pattern}", text)
        for number in re.findall(ROW, said)
        if number not in rows
    ]
    missing += [
        (path, mark)
        for path, text in texts()
        if path.startswith(ENGINE[:2])
        for mark in MARKS.findall(text)
        if mark not in marks
    ]
    assert missing == []


def test_every_page_that_code_names_exists() -> None:
    named = re.compile(r"\b(docs/[\w/.-]+\.md)(?:(?:,? section)? (\d+[a-z]?(?:\.\d+)*)(?![\d/]))?")
    missing = []
    for path, text in texts():
        for page, section in named.findall(text):
            if not (ROOT / page).exists() or (
                section and page.startswith("docs/brokers/") and section not in headings(ROOT / page)
            ):
                missing.append((path, page, section))
    assert missing == []


def test_every_module_that_a_text_names_exists() -> None:
    named = re.compile(r"(?<![\w/.-])((?:actors|brokers|config|http|tests|bench)/[\w/]+\.py)\b")
    elsewhere = re.compile(r"/planted\.py$|^tests/unit/")  # planted by a test; of a broker's SDK
    missing = {
        (path, module)
        for path, text in texts()
        for module in named.findall(text)
        if not (ROOT / module).exists() and not elsewhere.search(module)
    }
    assert missing == set()


def test_every_module_that_a_text_names_with_dots_exists() -> None:
    named = re.compile(r"`((?:actors|brokers|config|http|bench)(?:\.[a-z_0-9]+)+)`")
    standard = re.compile(r"^http\.(client|server|cookies)\b")
    missing = {
        (path, module)
        for path, text in texts()
        for module in named.findall(text)
        if not (standard.search(module) or _is_there(module.split(".")))
    }
    assert missing == set()


def _is_there(parts: list[str]) -> bool:
    """Whether the parts are a package, or a module and perhaps a name in it."""
    modules = (ROOT.joinpath(*parts[:count]).with_suffix(".py") for count in range(2, len(parts) + 1))
    return ROOT.joinpath(*parts).is_dir() or any(module.exists() for module in modules)


def test_nothing_cites_what_is_not_here() -> None:
    found = [(path, why, said[0]) for path, text in texts() for why, said in _forbidden(path, text)]
    assert found == []


def _forbidden(path: str, text: str) -> Iterator[tuple[str, re.Match[str]]]:
    for why, pattern in NEVER.items():
        for said in pattern.finditer(text):
            yield why, said
