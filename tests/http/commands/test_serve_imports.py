"""What `onebroker serve` imports before it opens anything: only the codecs of its own brokers, and nothing that only others need."""

import json
import subprocess
import sys

import pytest

from onebroker.actors.store.data_directory import DataDirectory
from onebroker.brokers.registry import CODES
from tests.support.patience import PATIENCE_SECONDS

LOADED = (
    "import json, sys\n"
    "from onebroker.http.__main__ import main\n"
    "code = main(['serve', '--config', sys.argv[1]])\n"
    "print(json.dumps([code, sorted(sys.modules)]))\n"
)
DATA_IN_USE = 3
TABLES = ("polars", "duckdb", "pyarrow", "numpy")
OTHERS_WORK = (
    "onebroker.brokers.simulator",  # the demo's and the simulator's
    "onebroker.http.commands.demo",
    "onebroker.brokers.listings.frame",  # the process that builds the catalogue
    "onebroker.actors.catalogue.merge",
    "onebroker.actors.catalogue.in_process_builder",
    "google.protobuf",  # other brokers' feeds
    "cryptography.hazmat",
    "rich",  # commands at a terminal
    "pytest",
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The modules of a `serve` over Zerodha that has read its settings and ends there, because its data directory is in use."""
    folder = tmp_path_factory.mktemp("serve")
    path = folder / "onebroker.toml"
    path.write_text(
        f'[service]\ndata_dir = "{folder / "data"}"\napi_key = "k"\napi_secret = "a secret for tests"\n'
        '[brokers.zerodha]\napi_key = "k"\napi_secret = "s"\n'
    )
    path.chmod(0o600)
    with DataDirectory(folder / "data"):
        done = subprocess.run(
            [sys.executable, "-c", LOADED, str(path)], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True
        )  # fmt: skip
    code, modules = json.loads(done.stdout)
    assert code == DATA_IN_USE, done.stderr
    assert "onebroker.http.commands.service_process" in modules
    return modules


def test_the_folders_of_other_brokers_are_not_imported(loaded):
    folders = {name.split(".")[2] for name in loaded if name.startswith("onebroker.brokers.")} & {*CODES}
    assert folders == {"zerodha"}


@pytest.mark.parametrize("name", [*TABLES, *OTHERS_WORK])
def test_it_is_not_imported_before_it_is_needed(loaded, name):
    assert [module for module in loaded if module == name or module.startswith(f"{name}.")] == []
