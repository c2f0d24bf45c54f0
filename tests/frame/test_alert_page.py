"""docs/alerts.md has the kinds of alerts that the code has, and its examples of URLs are read by Apprise."""

import re

import pytest

from onebroker.actors.alerts.apprise_receivers import open_receivers
from onebroker.config.alert_kinds import URGENT
from onebroker.config.converters import Secret
from tests.support.alert_page import PAGE, page


def test_the_table_of_the_kinds_is_the_codes():
    assert PAGE.read_text() == page(), "run `PYTHONPATH=. python tests/support/alert_page.py`"


def test_the_page_names_the_urgent_kinds_in_its_text():
    (sentence,) = re.findall(r"urgent kinds leave: ([^.]+)\.", PAGE.read_text())
    assert {*re.findall(r"`(\w+)`", sentence)} == {*URGENT}


def test_every_url_of_the_page_is_one_that_apprise_reads():
    urls = re.findall(r'^    "(\w+://[^"]+)"', PAGE.read_text(), re.MULTILINE)
    assert {url.partition(":")[0] for url in urls} >= {"tgram", "mailtos", "json"}
    if not urls:
        pytest.fail("the page has no example")
    open_receivers([Secret(url) for url in urls])
