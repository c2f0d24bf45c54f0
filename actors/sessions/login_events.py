"""Tells what becomes of one broker's login (`login.done`, `login.needed`, `login.refused`), each change once.

A login that is repaired within the session (the broker refused it and then took it again) is no change. A profile that cannot be asked for,
and a login that cannot be made because the broker is away, are failing reads (`profile`, `login`): they say nothing about the login.
"""

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.read_outcomes import ReadOutcomes
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.brokers.broker import Broker, Login, LoginKind
from onebroker.brokers.requests import BrokerRefusal
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.events import LoginDone, LoginNeeded, LoginRefused


class LoginEvents:
    """What was told of the login of one broker. The login's keeper reports every step; most of them tell nothing."""

    def __init__(self, broker: Broker, clock: Clock, events: Events, counts: SessionCounts | None = None) -> None:
        self._code = broker.code
        self._by_person = broker.login_kind is LoginKind.ASSISTED
        self._events = events
        self.profile = ReadOutcomes(broker.code, "profile", clock=clock, events=events, counts=counts)
        self._makes = ReadOutcomes(broker.code, "login", clock=clock, events=events, counts=counts)
        self._done: Login | None = None
        """The login of the last `login.done`; None = none since `login.needed`."""
        self._is_needed = False
        self._refusal: str | None = None
        """The words of the last `login.refused` since `login.done`."""
        self._death: str | None = None
        """The broker's words when it last refused the login's proof; None = it has taken a login since."""

    def proved(self, login: Login) -> None:
        """The broker has answered for `login`."""
        self._death = None
        if login != self._done:
            self._done, self._is_needed, self._refusal = login, False, None
            self._events.tell(LoginDone(broker=self._code, until=_moment(login.expires_at)))

    def died(self, words: str | None, *, is_new: bool) -> None:
        """The broker refused a login at its proof. `is_new`: the login has never been proved, so it is a refused login."""
        self._death = words
        if is_new and words is not None:
            self._refuse(words)

    def made(self) -> None:
        """The broker has given a login. It is not proved yet."""
        self._makes.good()

    def not_made(self, error: Exception) -> None:
        """A login without a person failed: the broker refused it, could not be asked, or gave nothing readable."""
        if isinstance(error, BrokerRefusal):
            self._makes.good()
            self._refuse(error.message)
        else:
            self._makes.failed(str(error))

    def needed(self, why: str) -> None:
        """There is no login, and a person or a corrected setting is needed. `why`: our sentence, for the case that the broker gave no words."""
        if self._is_needed:
            return
        self._is_needed, self._done = True, None
        words = self._death if self._by_person else None
        self._events.tell(LoginNeeded(broker=self._code, why=words or why, by_person=self._by_person))

    def _refuse(self, words: str) -> None:
        if words != self._refusal:
            self._refusal = words
            self._events.tell(LoginRefused(broker=self._code, words=words))


def _moment(epoch: float) -> str | None:
    """Return epoch seconds as ISO 8601 in IST, or None for a time beyond every calendar."""
    try:
        return from_epoch(epoch).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None
