"""docs/brokers.md names every broker with every key it may find in the settings, and no other."""

import re
from pathlib import Path

import pytest

from onebroker.brokers.broker import LoginKind
from onebroker.brokers.registry import build_registry

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "brokers.md").read_text()
ROWS = {
    code.strip(" `"): (set(re.findall(r"`([a-z_]+)`", keys)), login)
    for _, _, code, keys, login, *_ in (line.split("|") for line in PAGE.splitlines() if line.count("|") == 5)
}


@pytest.mark.parametrize("broker", build_registry().values(), ids=lambda broker: broker.code)
def test_the_page_names_a_brokers_keys_and_who_logs_in(broker):
    keys, login = ROWS[broker.code]
    assert keys == broker.all_credential_keys
    assert ("a person" in login) == (broker.login_kind is LoginKind.ASSISTED)
