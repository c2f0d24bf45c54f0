"""The programs of docs/how-to.md and of the README run as they stand, against a demo of their own. The simulator's ledger says what was sent."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import python  # noqa: F401  # a fixture: the Python of the client's environment

pytestmark = [pytest.mark.long, pytest.mark.sdk]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to.md"
CLIENT = ROOT / "clients" / "python" / "src"
PROGRAMS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S))
README = "In Python"
PROGRAMS[README] = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)[0]
PLACED = {
    README: (1, 1),
    "Buy with a stop and a target": (1, 1),
    "Buy in pieces by the clock": (0, 1),
    "Send many orders in one request": (3, 3),
    "Know what became of an order": (1, 1),
    "Follow a price with the stop": (0, 1),
}
"""How many orders a program sends, at least and at most. What is cancelled at once may have been sent before."""
SAYS = {
    README: r"FundsSummary\(.*\)\naccepted accepted\n",
    "Buy with a stop and a target": r"accepted working\n",
    "Follow a price with the stop": r"(armed|accepted)\n(cancelling|cancelled)\n",
    "Buy in pieces by the clock": r"(armed|accepted)\n(cancelling|cancelled)\n",
    "Send many orders in one request": r"200\n200\n200\n",
    "Know what became of an order": r"accepted\n",
    "See the whole portfolio as a table": r".*\w+ ok \S+ \S+\n",
    "Follow live quotes": r"\w+ \d+\.\d+\n",
    "Stop trading at once": r"reduce_only\n",
}


def test_every_program_has_its_judge():
    assert PROGRAMS.keys() == SAYS.keys()


@pytest.fixture(scope="module")
def share(demo):
    return demo.share()


@pytest.mark.parametrize("task", SAYS)
def test_the_program_does_what_its_page_says(task, demo, share, python, tmp_path):  # noqa: F811
    if task.startswith("Follow a price"):
        bought = demo.place(**demo.limit_buy(share, 1, quantity=10, product="MIS"))
        demo.until_status(bought.json["order_id"], "COMPLETE")
    before = len(demo.placed())
    own = PROGRAMS[task].replace("http://127.0.0.1:8000", f"http://127.0.0.1:{demo.port}")
    script = tmp_path / "program.py"
    script.write_text(own.replace("INFY", share["symbol"]).replace("BHAPRAO", share["symbol"]))
    environment = {**os.environ, "PYTHONPATH": str(CLIENT)}
    done = subprocess.run([python, script], capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(SAYS[task], done.stdout, re.S), done.stdout
    least, most = PLACED.get(task, (0, 0))
    demo.until(lambda: len(demo.placed()) - before >= least, "its orders to be sent")
    demo.assert_sent_once()
    assert len(demo.placed()) - before <= most
