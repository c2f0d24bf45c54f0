"""How reliable each broker's market feed is now, judged by its session's view and by the ticks of the other feeds.

An open socket proves nothing (lesson 2). A feed is *mute* if it sends nothing while other feeds send ticks of its instruments, even if
its socket is open. For brokers that promise no heartbeat this is the only sign. It works only while there is trade: where no feed ticks,
no feed is mute (lesson 3). Pure; seconds are monotonic.
"""

from collections.abc import Mapping, Set

import attrs

from onebroker.actors.quotes.feed_plan import Standing
from onebroker.actors.sessions.session_view import SessionView

WAIT_SECONDS = 15.0
"""How long a feed that dropped, or was never up, may take to connect. Most feeds are back in one or two seconds."""
QUIET_SECONDS = 5.0
"""A feed that sent a tick within this time is not suspected."""
FIRST_EVIDENCE = 30
"""In this many seconds, other feeds must have sent ticks of its instruments before a feed counts as mute."""
MOST_EVIDENCE = 480
"""If a reconnect does not help, the feed reconnects ever more rarely: the evidence needed doubles up to this."""


@attrs.define
class _Line:
    was_connected: bool = False
    down_since: float | None = None


class Standings:
    """The standing of every broker, judged every second by its session's view."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def look(self, code: str, view: SessionView, now: float, *, carries: bool, mute: bool) -> Standing:
        """Return the standing of one broker. `carries` tells whether its feed has any instrument to carry; if it has none, the feed may
        stay closed."""
        line = self._lines.setdefault(code, _Line())
        if not view.live and not line.was_connected:
            line.down_since = None
            return Standing.OUT
        if view.live and view.market_feed.connected:
            line.was_connected, line.down_since = True, None
            return Standing.LOST if mute else Standing.LIVE
        if not line.was_connected and not carries:
            line.down_since = None
            return Standing.LIVE  # the feed has been asked for nothing
        return self._down(line, view, now)

    @staticmethod
    def _down(line: _Line, view: SessionView, now: float) -> Standing:
        if line.down_since is None:
            line.down_since = now
        if now - line.down_since < WAIT_SECONDS:
            return Standing.WAITING if line.was_connected else Standing.LIVE
        if not view.live:
            line.was_connected, line.down_since = False, None
            return Standing.OUT
        return Standing.LOST


@attrs.define
class _Doubt:
    wanted: int = FIRST_EVIDENCE
    evidence: int = 0
    heard_at: float = 0.0
    mute: bool = False
    since: float = 0.0
    """Monotonic seconds of the last tick, or of the first suspicion when there was no tick."""


class Silences:
    """Which feeds are mute."""

    def __init__(self) -> None:
        self._doubts: dict[str, _Doubt] = {}

    def mute(self, code: str) -> bool:
        return code in self._doubts and self._doubts[code].mute

    def mute_since(self) -> dict[str, float]:
        """Return the mute feeds, each with the monotonic seconds of its last tick, or of the first suspicion when it sent none."""
        return {code: doubt.since for code, doubt in self._doubts.items() if doubt.mute}

    def look(
        self, carried: Mapping[str, Set[str]], heard_at: Mapping[str, float], ticked: Set[str], now: float
    ) -> list[str]:
        """Take in one second: the instruments each feed carries, the time of each feed's last tick, and the instruments that ticked on
        any feed. Return the feeds that should reconnect now."""
        return [code for code, ids in carried.items() if self._renew(code, ids, heard_at.get(code, 0.0), ticked, now)]

    def _renew(self, code: str, carried: Set[str], heard_at: float, ticked: Set[str], now: float) -> bool:
        doubt = self._doubts.setdefault(code, _Doubt(heard_at=heard_at))
        if heard_at != doubt.heard_at:
            self._doubts[code] = _Doubt(heard_at=heard_at)
            return False
        if now - heard_at <= QUIET_SECONDS or carried.isdisjoint(ticked):
            return False
        if not doubt.since:
            doubt.since = heard_at or now
        doubt.evidence += 1
        if doubt.evidence < doubt.wanted:
            return False
        doubt.mute, doubt.evidence = True, 0
        doubt.wanted = min(doubt.wanted * 2, MOST_EVIDENCE)
        return True
