"""A stranger follows the README, from the clone to a filled bracket on the screen, and nothing else: the commands and the steps are read from it.

Needs Chromium and the extra `browser` (tests/demo/screen.py), git, and an index of packages.
"""

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.held_port import held_port

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 300.0
"""From the beginning of the clone to the filled bracket."""
LOOK_SECONDS = 0.5
TICK = Decimal("0.05")
PRICE = re.compile(r"last ([+-]) (\d+) %")


@pytest.fixture
def port():
    with held_port() as port:
        yield port


def section(text, title):
    return re.split(r"^#+ .+$", text.split(f" {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.fixture
def served(tmp_path, port):
    """Clone HEAD and run the first block of `Try it`; yield the text of the README once the service answers, and the moment of the beginning."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone, or git is not installed")
    began = time.monotonic()
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    readme = (clone / "README.md").read_text()
    command = re.search(r"^```sh\n(.*)\n```$", readme, flags=re.MULTILINE)[1].replace("8000", str(port))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=clone, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "HOME": str(tmp_path)}, start_new_session=True,
        )  # fmt: skip
    try:
        while not answers(port):
            assert process.poll() is None, (tmp_path / "log").read_text()[-1000:]
            assert time.monotonic() - began < MOST_SECONDS
            time.sleep(LOOK_SECONDS)
        yield readme, began
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def answers(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/") as answer:
            return answer.status == 200
    except OSError:
        return False


class Stranger:
    """Does what a step says. A step whose words it does not know fails."""

    def __init__(self, page, address):
        self.page = page
        self.page.goto(address)

    def follow(self, step):
        for sentence in re.split(r"(?<=[.:,]) (?=[A-Z])|, and (?=press )|(?<=`), and (?=\*\*)", step):
            self._do(sentence)

    def _do(self, sentence):
        fill = re.match(r"(?:Fill )?\*\*(.+?)\*\* with `(.+?)`(?! behind)", sentence)
        press = re.match(r"[Pp]ress \*\*(.+?)\*\*(?: with `(.+?)` behind it)?", sentence)
        page = re.match(r"Choose the page \*\*(.+?)\*\*", sentence)
        if fill:
            self.page.get_by_label(fill[1], exact=True).fill(fill[2])
        elif press:
            button = self.page.locator("button", has_text=re.compile(f"^{re.escape(press[1])}"))
            (button.filter(has_text=press[2]) if press[2] else button).first.click()
        elif page:
            self.page.locator("nav a", has_text=page[1]).click()
        elif sentence.startswith("It shows "):
            for shown in re.findall(r"`(.+?)`", sentence):
                self.page.locator("main", has_text=shown).wait_for()
        else:
            assert "**" not in sentence, f"the script does not understand: {sentence}"

    def fill_form(self, rows):
        last = Decimal(self.page.locator("#ticket-quote #last").inner_text().replace(",", ""))
        for name, value in rows:
            field = self.page.get_by_label(re.compile(rf"^{re.escape(name)}( \*)?$"))
            typed = value.strip("`")
            if found := PRICE.fullmatch(value):
                share = Decimal(f"{found[1]}{found[2]}") / 100
                typed = str((last * (1 + share) / TICK).quantize(Decimal(1)) * TICK)
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(typed)
            else:
                field.fill(typed)


def test_the_readme_alone_leads_to_a_filled_bracket_in_time(browser, served, port):
    readme, began = served
    text = section(readme, "On the screen")
    address = re.search(r"Open <(.+?)>", text)[1].replace("8000", str(port))
    page = browser.new_page()
    page.set_default_timeout(60_000)
    stranger = Stranger(page, address)
    rows = re.findall(r"^ +\| ([a-z_ ]+) \| (.+?) \|$", text, flags=re.MULTILINE)
    assert len(rows) > 5
    for step in re.findall(r"^\d\. (.+)$", text, flags=re.MULTILINE):
        if step.startswith("Fill the form"):
            stranger.fill_form(rows)
        else:
            stranger.follow(step)
    seconds = time.monotonic() - began
    print(f"from the clone to the filled bracket: {seconds:.0f} s")
    assert seconds < MOST_SECONDS
    page.context.close()
