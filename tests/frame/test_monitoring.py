"""The files for Prometheus and Grafana: what they name exists, and promtool takes them.

promtool comes with Prometheus. Where it is neither on the PATH nor named by PROMTOOL, its tests are skipped.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from onebroker.http.metrics.names import ALL
from tests.support.further import long_case
from tests.support.monitoring_page import FOLDER, PAGE, names_in, page
from tests.support.patience import PATIENCE_SECONDS

FILES = ("grafana.json", "alerts.rules.yml", "alerts.test.yml")
OURS = {name.name for name in ALL}
RULES = re.findall(r"- alert: (\w+)", (FOLDER / "alerts.rules.yml").read_text())
BOARD = json.loads((FOLDER / "grafana.json").read_text())


def test_the_page_is_what_the_code_has():
    assert PAGE.read_text() == page(), "run `PYTHONPATH=. python tests/support/monitoring_page.py`"


@pytest.mark.parametrize("file", FILES)
def test_every_metric_that_a_file_names_exists(file: str):
    named = {name for name in names_in(file) if name.startswith("onebroker_")}
    assert len(named) > 10
    assert named <= OURS


def test_every_alert_has_a_test_that_fires_it_and_one_that_does_not():
    text = (FOLDER / "alerts.test.yml").read_text()
    for rule in RULES:
        assert re.search(rf"alertname: {rule}\n\s+exp_alerts:\n\s+- exp_labels", text), rule
        assert f"alertname: {rule}, exp_alerts: []" in text, rule


def _panels() -> Iterator[dict[str, Any]]:
    yield from BOARD["panels"]


def test_the_board_has_four_rows_and_asks_the_data_source_of_its_variable():
    assert [panel["title"] for panel in _panels() if panel["type"] == "row"] == [
        "Overview",
        "Orders",
        "Brokers",
        "Process",
    ]
    assert (
        BOARD["templating"]["list"][0] | {"name": "datasource", "type": "datasource", "query": "prometheus"}
        == (BOARD["templating"]["list"][0])
    )
    graphs = [panel for panel in _panels() if panel["type"] != "row"]
    assert {panel["datasource"]["uid"] for panel in graphs} == {"${datasource}"}
    assert len({panel["id"] for panel in _panels()}) == len(BOARD["panels"])
    assert all(target["expr"] for panel in graphs for target in panel["targets"])


# --- promtool -----------------------------------------------------------------------------------------------------------


def promtool(*arguments: str) -> str:
    tool = os.environ.get("PROMTOOL") or shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is neither on the PATH nor named by PROMTOOL; it comes with Prometheus")
    done = subprocess.run(
        [tool, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@long_case()
def test_promtool_takes_the_rules():
    assert f"SUCCESS: {len(RULES)} rules found" in promtool("check", "rules", "alerts.rules.yml")


@long_case()
def test_every_alert_fires_in_promtools_tests():
    assert "SUCCESS" in promtool("test", "rules", "alerts.test.yml")


@long_case()
def test_the_scrape_configuration_of_the_page_is_right(tmp_path):
    (config,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    token = tmp_path / "token"
    token.write_text("a-metrics-token")
    shutil.copy(FOLDER / "alerts.rules.yml", tmp_path)
    file = tmp_path / "prometheus.yml"
    file.write_text(config.replace("/etc/prometheus/onebroker-metrics-token", str(token)))
    assert "SUCCESS" in promtool("check", "config", str(file))
