"""The wheel and the source archive, each installed with its packages into a fresh environment outside the checkout: `onebroker demo` trades there."""

import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.conftest import Demo
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
PACKED = ("config", "brokers", "actors", "http", "pyproject.toml", "setup.py", "README.md", "LICENSE")
BUILD = "import sys, setuptools.build_meta as backend; getattr(backend, f'build_{sys.argv[1]}')(sys.argv[2])"
FILES = {"wheel": "onebroker-*.whl", "sdist": "onebroker-*.tar.gz"}
PAGES = {
    "/": b"<html",
    "/dashboard/app.js": b"import",
    "/docs": b"<html",
    "/docs/try": b"swagger",
    "/openapi.json": b'"openapi"',
}
"""Pages whose files are data of the packages, with something that each holds."""


def run(*command: object, cwd: Path) -> str:
    """Run a command without anything of the checkout on its path; return what it printed."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ONEBROKER"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=variables, capture_output=True, text=True, timeout=5 * PATIENCE_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(params=FILES)
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A fresh environment with onebroker from one built file and the pinned packages."""
    source, built, environment = (tmp_path / name for name in ("source", "built", "environment"))
    source.mkdir()
    for name in PACKED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    run(sys.executable, "-c", BUILD, request.param, built, cwd=source)
    shutil.rmtree(source)
    (file,) = built.glob(FILES[request.param])
    run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    run(environment / "bin" / "pip", "install", "-q", "-c", ROOT / "constraints.txt", file, cwd=tmp_path)
    return environment


@pytest.fixture
def demo(environment: Path, tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path / "data")
    demo.program = [str(environment / "bin" / "onebroker")]
    yield demo
    demo.clean_up()


def test_the_demo_answers_and_an_order_is_filled(environment: Path, demo: Demo, tmp_path: Path) -> None:
    where = run(
        environment / "bin" / "python", "-c", "import onebroker.http.app as app; print(app.__file__)", cwd=tmp_path
    )
    assert where.startswith(str(environment))
    demo.start()
    demo.until_ready()
    for path, holds in PAGES.items():
        with urllib.request.urlopen(f"http://127.0.0.1:{demo.port}{path}", timeout=PATIENCE_SECONDS) as answer:
            assert holds in answer.read().lower(), path
    share = demo.share()
    order_id = demo.place(**demo.limit_buy(share)).json["order_id"]
    demo.until_status(order_id, "OPEN")
    demo.move(share["instrument_id"], demo.at_price(share, -3))
    assert demo.until_status(order_id, "COMPLETE")["filled_quantity"] == 1
    assert demo.end() == 0
