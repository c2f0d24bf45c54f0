"""`--exchange-documents`: the simulated exchange keeps the hours of the documents it is given."""

import argparse
import json
from datetime import datetime

import pytest

from onebroker.brokers.simulator.__main__ import add_arguments, read_options
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents

SATURDAY = datetime(2026, 11, 28, 11, 0, tzinfo=IST)


def calendar_of(*arguments):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return read_options(parser.parse_args(arguments)).calendar


@pytest.fixture
def file(tmp_path):
    nse = exchange_documents()[0]
    session = {"date": "2026-11-28", "name": "Drill", "calendars": ["equity"], "opens": "10:00", "closes": "12:00"}
    path = tmp_path / "exchanges.json"
    path.write_text(json.dumps([{**nse, "special_sessions": [session]}]))
    return path


def test_the_hours_are_those_of_the_file(file):
    calendar = calendar_of("--market-hours", "real", "--exchange-documents", str(file))
    assert calendar.is_open("nse", "equity", SATURDAY)
    assert not calendar.trades("mcx", "commodity")


def test_without_a_file_they_are_those_that_come_with_onebroker_and_always_open_knows_none(file):
    assert not calendar_of("--market-hours", "real").is_open("nse", "equity", SATURDAY)
    assert calendar_of("--exchange-documents", str(file)).is_open("mcx", "commodity", SATURDAY)


@pytest.mark.parametrize("content", ["{", "[1]", '[{"exchange": "nse"}]', None])
def test_a_file_that_holds_no_hours_is_wrong_use(tmp_path, content):
    path = tmp_path / "exchanges.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match="--exchange-documents: "):
        calendar_of("--market-hours", "real", "--exchange-documents", str(path))
