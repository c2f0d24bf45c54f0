"""Telling an event never fails, whatever its listeners do."""

import logging

import pytest

from onebroker.actors.kernel.events import Events, write_to_log
from onebroker.config.events import ClockStepped, FeedUp

STEP = ClockStepped(seconds=-3.0)


def test_every_listener_hears_every_event_in_the_order_of_the_listeners():
    heard = []
    events = Events(lambda event: heard.append((1, event)), lambda event: heard.append((2, event)))
    events.tell(STEP)
    assert heard == [(1, STEP), (2, STEP)]


def test_without_a_listener_nothing_happens():
    Events().tell(STEP)


def test_a_faulty_listener_costs_only_its_part_and_is_logged(caplog):
    heard = []

    def fail(_event):
        raise LookupError("a fault of a listener")

    events = Events(heard.append, fail, heard.append)
    events.tell(STEP)
    events.tell(STEP)
    assert heard == [STEP] * 4
    assert caplog.messages == ["a listener failed with clock.stepped"] * 2
    assert "a fault of a listener" in caplog.text


def test_what_ends_the_process_is_no_fault_of_a_listener():
    def stop(_event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Events(stop).tell(STEP)


def test_the_log_has_the_line_the_level_and_the_event(caplog):
    caplog.set_level(logging.INFO)
    up = FeedUp(broker="dhan", feed="market")
    for event in (STEP, up):
        write_to_log(event)
    assert [(record.levelname, record.getMessage(), record.event) for record in caplog.records] == [
        ("WARNING", "clock.stepped seconds=-3.0", STEP),
        ("INFO", "feed.up broker=dhan feed=market", up),
    ]


def test_a_percent_sign_in_an_event_is_text(caplog):
    caplog.set_level(logging.INFO)
    write_to_log(FeedUp(broker="%s", feed="%d"))
    assert caplog.messages == ["feed.up broker=%s feed=%d"]
