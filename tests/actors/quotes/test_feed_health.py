"""How far a feed can be relied on, by its socket and by what other feeds tell."""

import attrs

from onebroker.actors.quotes.feed_health import FIRST_EVIDENCE, WAIT_SECONDS, Silences, Standings
from onebroker.actors.quotes.feed_plan import Standing
from onebroker.actors.sessions.session_view import FeedView, LoginState, SessionView

NO_LOGIN = SessionView(broker="zerodha")
CLOSED = attrs.evolve(NO_LOGIN, login=LoginState.LIVE)
CONNECTED = attrs.evolve(CLOSED, market_feed=FeedView(connected=True))


def look(standings, view, now, *, carries=True, mute=False):
    return standings.look("zerodha", view, now, carries=carries, mute=mute)


def test_a_broker_without_a_login_is_out_and_one_with_nothing_to_carry_may_stay_closed():
    standings = Standings()
    assert look(standings, NO_LOGIN, 0, carries=False) is Standing.OUT
    assert look(standings, CLOSED, 1000, carries=False) is Standing.LIVE
    assert look(standings, CLOSED, 2000, carries=False) is Standing.LIVE


def test_a_feed_that_cannot_be_connected_in_a_while_is_lost_until_it_is():
    standings = Standings()
    assert look(standings, CLOSED, 0) is Standing.LIVE
    assert look(standings, CLOSED, WAIT_SECONDS - 1) is Standing.LIVE
    assert look(standings, CLOSED, WAIT_SECONDS) is Standing.LOST
    assert look(standings, CONNECTED, 100) is Standing.LIVE


def test_a_feed_that_dropped_is_waited_for_and_then_lost():
    standings = Standings()
    look(standings, CONNECTED, 0)
    assert look(standings, CLOSED, 10) is Standing.WAITING
    assert look(standings, CONNECTED, 12) is Standing.LIVE
    assert look(standings, CLOSED, 20) is Standing.WAITING
    assert look(standings, CLOSED, 20 + WAIT_SECONDS) is Standing.LOST


def test_a_login_that_is_being_repaired_is_waited_for_and_one_that_is_gone_is_not():
    standings = Standings()
    look(standings, CONNECTED, 0)
    assert look(standings, NO_LOGIN, 10) is Standing.WAITING
    assert look(standings, CONNECTED, 12) is Standing.LIVE
    look(standings, NO_LOGIN, 20)
    assert look(standings, NO_LOGIN, 20 + WAIT_SECONDS) is Standing.OUT
    assert look(standings, CLOSED, 5000) is Standing.LIVE, "a new login begins anew"


def test_a_mute_feed_counts_as_lost_however_connected():
    assert look(Standings(), CONNECTED, 0, mute=True) is Standing.LOST


CARRIED = {"zerodha": {"a", "b"}, "upstox": {"a"}}


def seconds(silences, count, *, heard, ticked=frozenset("a"), start=0, carried=CARRIED):
    """Let `count` seconds pass, in each of which `ticked` ticked somewhere; return when feeds were to be renewed."""
    renewed = []
    for second in range(start, start + count):
        heard_at = {code: second if at == "now" else at for code, at in heard.items()}
        renewed += [(second, code) for code in silences.look(carried, heard_at, ticked, float(second))]
    return renewed


def test_a_feed_that_says_nothing_of_what_others_go_on_telling_is_mute():
    silences = Silences()
    renewed = seconds(silences, 100, heard={"zerodha": 0.0, "upstox": "now"})
    assert renewed[0] == (5 + FIRST_EVIDENCE, "zerodha")
    assert silences.mute("zerodha")
    assert not silences.mute("upstox")
    seconds(silences, 1, heard={"zerodha": 100.0, "upstox": "now"}, start=101)
    assert not silences.mute("zerodha"), "a tick ends it"


def test_where_nobody_ticks_nobody_is_mute():
    silences = Silences()
    assert seconds(silences, 5000, heard={"zerodha": 0.0, "upstox": 0.0}, ticked=frozenset()) == []


def test_one_burst_of_the_others_is_no_evidence():
    silences = Silences()
    for start in range(0, 1000, 100):
        assert seconds(silences, 1, heard={"zerodha": -50.0, "upstox": "now"}, start=start) == []


def test_ticks_of_what_it_does_not_carry_are_no_evidence():
    silences = Silences()
    assert seconds(silences, 500, heard={"zerodha": "now", "upstox": 0.0}, ticked=frozenset("b")) == []


def test_a_feed_that_stays_mute_is_renewed_ever_more_rarely():
    renewed = seconds(Silences(), 2000, heard={"zerodha": 0.0, "upstox": "now"})
    at = [second for second, _ in renewed]
    assert at == [35, 95, 215, 455, 935, 1415, 1895]
