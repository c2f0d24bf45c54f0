"""`onebroker check`: what works at each broker, with a service and without one, and why something does not."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import date

import msgspec
import pytest

from onebroker.actors.health.calendar_problems import calendar_until
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.settings import build_settings
from onebroker.http.commands.check import stored_calendar
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
STEPS = ["address", "login", "profile", "orders", "trades", "positions", "holdings", "funds", "instruments", "stream"]


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *details):
        return None


def run(path, command, *more):
    return subprocess.run(
        [*ONEBROKER, command, *more, "--config", str(path)],
        input="\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


def check(path, *more):
    done = run(path, "check", "--json", *more)
    return done.returncode, {
        code: {step["name"]: step for step in steps} for code, steps in json.loads(done.stdout).items()
    }


def log_in(path, code):
    """Do what a person does: open the page, bring back where it sends us."""
    page = next(word for word in run(path, "login", code).stderr.split() if word.startswith("http"))
    try:
        urllib.request.build_opener(_Stay).open(page, timeout=PATIENCE_SECONDS)
    except urllib.error.HTTPError as answer:
        with answer:
            done = run(path, "login", code, "--redirect", answer.headers["location"])
    assert done.returncode == 0, done.stderr


def fault(simulator, **body):
    request = urllib.request.Request(
        f"{simulator['control']}/fault",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200


def orders_sent(simulator):
    with urllib.request.urlopen(f"{simulator['control']}/ledger", timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)["orders"]


@pytest.mark.long
@pytest.mark.parametrize("running", [True, False])
def test_every_step_of_every_broker_is_tried_and_no_order_is_sent(config, simulator, running, request):
    path, _ = config
    if running:
        request.getfixturevalue("service")
        assert run(path, "instruments", "sync").returncode == 0  # what is built first may not be there yet
    before = orders_sent(simulator)
    for code in ("zerodha", "upstox"):
        log_in(path, code)
    status, brokers = check(path)
    assert list(brokers) == ["zerodha", "upstox"]
    for steps in brokers.values():
        assert list(steps) == STEPS
        assert all(step["ok"] for step in steps.values()), steps
    assert status == 0
    assert run(path, "check", "zerodha").stdout.endswith("calendar: always open\n")
    assert orders_sent(simulator) == before


@pytest.mark.long
def test_the_reason_of_each_failure_is_said_and_the_other_broker_is_not_touched(config, simulator):
    path, _ = config
    log_in(path, "zerodha")
    log_in(path, "upstox")
    fault(simulator, broker="upstox", kind="http_500")
    done = run(path, "check")
    assert done.returncode == 1
    head, zerodha, upstox = done.stdout.splitlines()[:3]
    assert head.split() == ["broker", *STEPS]
    assert zerodha.split() == ["zerodha", *["ok"] * len(STEPS)]
    assert "FAILED" in upstox
    assert "upstox profile: " in done.stdout
    assert "upstox funds: " in done.stdout


def test_a_broker_that_needs_a_person_says_so(config):
    path, _ = config
    status, brokers = check(path)
    assert status == 4
    assert brokers["zerodha"]["login"]["detail"] == "a person must log in: onebroker login zerodha"
    assert list(brokers["zerodha"]) == ["address", "login"]


def test_each_broker_is_told_by_which_address_its_orders_leave_and_what_its_documents_say(config):
    path, _ = config
    own = {"zerodha": 'source_address = "127.0.0.2"\nalgo_id = "A-100"', "upstox": 'address_family = "ipv6"'}
    text = path.read_text()
    for code, line in own.items():
        text = text.replace(f"[brokers.{code}]", f"[brokers.{code}]\n{line}")
    path.write_text(text)
    status, brokers = check(path)
    assert status == 4
    assert {code: steps["address"]["ok"] for code, steps in brokers.items()} == {"zerodha": True, "upstox": False}
    assert brokers["zerodha"]["address"]["detail"] == (
        "source address 127.0.0.2; to 127.0.0.1 by 127.0.0.2; orders carry the algo id of the settings; Zerodha takes orders only from an address registered for the app"
    )
    assert brokers["upstox"]["address"]["detail"] == (
        "upstox: its address is of another family than the settings allow (IPv6 only)"
    )
    said = run(path, "check", "zerodha").stdout
    assert "zerodha address: source address 127.0.0.2; to 127.0.0.1 by 127.0.0.2" in said  # though it is no failure
    assert said.endswith("calendar: always open\n")


async def test_without_a_service_the_calendar_is_that_of_the_imported_documents(tmp_path):
    settings = build_settings({"service": {"data_dir": str(tmp_path)}}, known_brokers={}, second_hosts={})
    assert calendar_until(await stored_calendar(settings, tmp_path)) == date(2026, 12, 31)
    documents = exchange_documents()
    for document in documents:
        for rows in document["holidays"].values():
            rows.append({"date": "2027-12-24", "closed": "all", "name": "a day"})
    durable = SqliteDurable(tmp_path / DURABLE_FILE)
    await durable.replace_documents("exchanges", [msgspec.json.encode(document) for document in documents])
    assert calendar_until(await stored_calendar(settings, tmp_path)) == date(2027, 12, 31)


@pytest.mark.long
def test_a_dead_login_is_found_out_by_the_profile(config, simulator):
    path, _ = config
    log_in(path, "zerodha")
    fault(simulator, broker="zerodha", kind="expire_session", count=1)
    status, brokers = check(path, "zerodha")
    assert list(brokers) == ["zerodha"]
    assert not brokers["zerodha"]["profile"]["ok"]
    assert status == 1


@pytest.mark.long
def test_a_simulator_that_is_gone_is_nothing_reachable(config, simulator):
    path, _ = config
    log_in(path, "zerodha")
    simulator["process"].stdin.close()
    simulator["process"].wait(PATIENCE_SECONDS)
    status, brokers = check(path, "zerodha")
    assert not brokers["zerodha"]["profile"]["ok"]
    assert not brokers["zerodha"]["stream"]["ok"]
    assert status == 1  # the stored login is all that is there


@pytest.mark.parametrize("words", [["nosuch"], ["--data-dir", "/nowhere/at/all"]])
def test_wrong_use_is_said_in_a_sentence(config, words):
    done = subprocess.run(
        [*ONEBROKER, "check", *words, *(["--config", str(config[0])] if words == ["nosuch"] else [])],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
