"""`onebroker history rename`: kept without a service and through a running one, read through at /prices, shown by the check."""

import json

import pytest

from onebroker.config.instruments import security
from tests.http.commands.history.test_file_load import HEADER, line, load, run, service

OLD, NEW = security("nse", "equities", "OLDCO"), security("nse", "equities", "NEWCO")


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def loaded(data_dir, tmp_path):
    path = tmp_path / "candles.csv"
    path.write_text(
        "\n".join([HEADER, line("2025-10-22"), line("2025-10-23"), line("2025-10-24", symbol="newco")]) + "\n"
    )
    load(data_dir, "--create", path)
    return data_dir


def rename(data_dir, *arguments):
    return run("history", "rename", *arguments, "--data-dir", data_dir)


def check(data_dir):
    return json.loads(run("history", "check", "--data-dir", data_dir, "--json").stdout)


def test_a_rename_is_kept_shown_and_forgotten(loaded):
    done = rename(loaded, "OLDCO", "NEWCO", "--from", "2025-10-24")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout == "kept: nse nse_equities security OLDCO is nse nse_equities security NEWCO from 2025-10-24 on\n"
    )
    assert rename(loaded, "OLDCO", "NEWCO", "--from", "2025-10-24").stdout == "nothing has changed\n"
    shown = "nse nse_equities security OLDCO is nse nse_equities security NEWCO from 2025-10-24 on (history rename)"
    assert check(loaded)["renames"] == [shown]
    assert f"renamed: {shown}" in run("history", "check", "--data-dir", loaded).stdout
    assert rename(loaded, OLD.instrument_id, NEW.instrument_id, "--from", "2025-10-24", "--forget").stdout.startswith(
        "forgotten: "
    )
    assert check(loaded)["renames"] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("OLDCO", "NEWCO", "--from", "soon"), "--from must be a date in YYYY-MM-DD format"),
        (("OLDCO", "OLDCO", "--from", "2025-10-24"), "OLD and NEW are the same instrument"),
        (("NEVERWAS", "NEWCO", "--from", "2025-10-24"), "is not known"),
        (("OLDCO", "NEWCO", "--from", "2025-10-24", "--exchange", "lse"), "exchange must be one of"),
    ],
)
def test_what_names_no_two_instruments_is_wrong_use(loaded, arguments, sentence):
    done = rename(loaded, *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.long
def test_a_running_service_keeps_it(loaded):
    with service(loaded):
        done = rename(loaded, "OLDCO", "NEWCO", "--from", "2025-10-24")
        assert done.stdout.startswith("kept: "), done.stderr
        assert len(check(loaded)["renames"]) == 1
