"""What is packaged: every folder with code, nothing else, and a wheel that works outside the checkout."""

import ast
import os
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
CODE = ("config", "brokers", "actors", "http")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def code_folders() -> list[Path]:
    """Every folder of the four that holds Python files, relative to the checkout."""
    files = (file for top in CODE for file in (ROOT / top).rglob("*.py"))
    return sorted({file.parent.relative_to(ROOT) for file in files})


def test_every_folder_with_code_is_found_and_nothing_else() -> None:
    found = runpy.run_path(str(ROOT / "setup.py"), run_name="found")["packages"]()
    assert found == sorted(".".join(("onebroker", *folder.parts)) for folder in code_folders())


def test_http_holds_no_init_file_and_every_other_folder_does() -> None:
    without = [str(folder) for folder in code_folders() if not (ROOT / folder / "__init__.py").exists()]
    assert without == ["http"]


def test_every_package_says_what_it_holds() -> None:
    silent = [
        str(folder)
        for folder in code_folders()
        if folder != Path("http") and ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text())) is None
    ]
    assert silent == []


def test_the_tests_hold_no_init_files() -> None:
    assert [str(file) for file in (ROOT / "tests").rglob("__init__.py")] == []


def test_the_links_for_the_type_checker_lead_to_the_four_folders() -> None:
    links = ROOT / ".typing" / "onebroker"
    assert {link.name: link.resolve() for link in links.iterdir()} == {name: ROOT / name for name in CODE}


def test_the_constraints_pin_every_dependency_exactly() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(line.count("==") == 1 and " " not in line for line in lines), lines
    pinned = {_plain(line.split("==")[0]) for line in lines}
    project = PROJECT["project"]
    wanted = {
        _name(each) for some in (project["dependencies"], *project["optional-dependencies"].values()) for each in some
    }
    assert wanted - {"onebroker"} - pinned == set()  # the tests' extra names our own extras


def _name(requirement: str) -> str:
    return _plain(requirement.split(";")[0].split("[")[0].split("=")[0].rstrip("<>~! "))


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain installation from a copy of the checkout, made without the network and without its dependencies."""
    copy, target = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("installed")
    for name in (*CODE, "pyproject.toml", "setup.py", "README.md", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), str(copy))
    (wheel,) = target.glob("onebroker-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target / "site")
    return target / "site"


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir", *arguments],
        env={**os.environ, "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_holds_every_module_of_the_checkout_and_no_other(installed: Path) -> None:
    ours = {str(file.relative_to(ROOT)) for folder in code_folders() for file in (ROOT / folder).glob("*.py")}
    package = installed / "onebroker"
    assert {str(file.relative_to(package)) for file in package.rglob("*.py")} == ours
    assert not (package / "__init__.py").exists()


def test_the_wheel_carries_its_licence(installed: Path) -> None:
    (licence,) = installed.glob("onebroker-*.dist-info/licenses/LICENSE")
    assert licence.read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("folder", ["docs_page/swagger_ui", "dashboard/static", "dashboard/vendor"])
def test_the_wheel_carries_the_files_of_pages_with_their_licences(installed: Path, folder: str) -> None:
    packed = {file.name: file.read_bytes() for file in (installed / "onebroker" / "http" / folder).iterdir()}
    assert packed == {file.name: file.read_bytes() for file in (ROOT / "http" / folder).iterdir()}
    assert folder.endswith("static") or any(name.startswith("LICENSE") for name in packed)


def test_the_installed_package_runs_by_its_module_and_leaves_the_standard_http_alone(
    installed: Path, tmp_path: Path
) -> None:
    # -S keeps the checkout's editable finder out; the dependencies come back by PYTHONPATH.
    dependencies = os.pathsep.join(each for each in sys.path if each.endswith("site-packages"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(installed), dependencies))}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-S", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = run(
        "-c", "import http.client, onebroker.http.app as app; print(http.client.__file__, app.__file__, sep=chr(10))"
    )
    standard, ours = where.splitlines()
    assert ours == str(installed / "onebroker" / "http" / "app.py")
    assert not standard.startswith(str(installed))
    usage = run("-m", "onebroker.http", "--help")
    assert "demo" in usage
    assert "simulator" in usage
