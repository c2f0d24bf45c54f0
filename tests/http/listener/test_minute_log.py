"""Facts that strangers cause are told at most once a minute each, with their count."""

import logging

import trio

from onebroker.http.listener.minute_log import FLUSH_SECONDS, MINUTE_SECONDS, MinuteLog, flush_held, warnings_to


class Told:
    def __init__(self):
        self.now = 0.0
        self.facts = []
        self.log = MinuteLog(lambda *fact: self.facts.append(fact), now=lambda: self.now)


def test_the_first_fact_is_told_at_once_and_those_of_the_next_minute_together():
    told = Told()
    for number in range(5):
        told.log.note("refused", f"192.0.2.{number}")
        told.now += 1
    assert told.facts == [("refused", 1, "192.0.2.0")]
    told.log.flush()
    assert len(told.facts) == 1  # its minute is not over
    told.now = MINUTE_SECONDS
    told.log.flush()
    told.log.flush()
    assert told.facts[1:] == [("refused", 4, "192.0.2.4")]


def test_each_fact_has_a_minute_of_its_own():
    told = Told()
    told.log.note("refused")
    told.log.note("cut")
    assert told.facts == [("refused", 1, ""), ("cut", 1, "")]


def test_a_fact_after_a_quiet_minute_is_told_at_once():
    told = Told()
    told.log.note("refused")
    told.now = MINUTE_SECONDS
    told.log.note("refused")
    assert [count for _, count, _ in told.facts] == [1, 1]


def test_a_fact_becomes_a_warning_with_its_count(caplog):
    say = warnings_to(logging.getLogger("test"))
    say("something failed", 4, "127.0.0.1")
    say("something failed", 1, "")
    assert caplog.messages == [
        "something failed (4 since the last such line; the last one: 127.0.0.1)",
        "something failed (1 since the last such line)",
    ]


async def test_held_facts_are_told_when_their_minute_is_over(autojump_clock):
    facts = []
    log = MinuteLog(lambda *fact: facts.append((trio.current_time(), *fact)), now=trio.current_time)
    began = trio.current_time()
    with trio.move_on_after(10 * MINUTE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flush_held, log)
            for _ in range(3):
                log.note("refused")
            await trio.sleep_forever()
    assert [fact[1:] for fact in facts] == [("refused", 1, ""), ("refused", 2, "")]
    assert MINUTE_SECONDS <= facts[1][0] - began <= MINUTE_SECONDS + FLUSH_SECONDS
