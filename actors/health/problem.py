"""A problem: one thing that is wrong now, in words for the person who can do something about it."""

from enum import StrEnum

import attrs


class ProblemKind(StrEnum):
    """What a problem is about. Alerts and metrics are chosen by the kind. docs/health.md is made of the texts below the kinds."""

    LOGIN = "login"
    """A broker has no login, or refuses orders from this address, or the morning's new login failed. A login that repairs itself is a
    problem after 3 s.

    Subject: empty, `address` or `morning`. Do: log in (`onebroker login CODE`), or correct the settings of the broker."""
    FEED = "feed"
    """A market feed or an order feed is down for 2 s, sends unreadable frames, or is mute or silent. It is a problem only while a market
    of the broker is open.

    Subject: `market`, `orders` or a market such as `nse equity`. Do: wait, because feeds reconnect; then look at the broker's status page."""
    DATA = "data"
    """A broker's read fails for 3 s, or its part of a document is older than its rule, or a whole document is. A broker without a login has
    only the problem `login`.

    Subject: the document. Do: wait, because reads are repeated; then look at the broker's status page."""
    STORE = "store"
    """The store does not answer, or may remove orders when its memory is full, or the database of `store.database` does not answer.

    Subject: empty, `eviction` or `database`. Do: look at the store's process, its disk and its log."""
    SECRETS = "secrets"
    """A broker's login or the access token is stored encrypted, and no key of the settings opens it. It counts as not there. A login that the
    service makes by itself is not stored then.

    Subject: the name of the stored value. Do: give the key file of before (docs/operations/secrets.md)."""
    DISK = "disk"
    """The disk of the data directory has less free than `history.disk_reserve_mb`, or ticks were not recorded in the last minute.

    Subject: empty or `ticks`. Do: free some space."""
    ARCHIVE = "archive"
    """Ticks of days that are over could not be archived, or not be removed after their time. They stay in the history store, and the service
    tries again every quarter of an hour.

    Do: look at the place of `history.tick_archive`; `onebroker history archive` tries it."""
    FILES = "files"
    """The process can open few more files.

    Do: raise the limit of open files; close connections that are not needed."""
    CALENDAR = "calendar"
    """The last year whose holidays are known ends within 30 days, or today is a day that the calendar does not know.

    Subject: the last known day, or `unknown day`. Do: import exchange documents with the next year's holidays."""
    ACTOR = "actor"
    """A part of the service is down or restarting.

    Subject: the part. Do: nothing, unless it stays; then read the log."""
    CRASH = "crash"
    """A part of the service crashed within the last 10 minutes. It runs again, or it is tried again.

    Subject: the part. Do: read the log, and report the error."""
    AUDIT = "audit"
    """The audit cannot be written, or has lost events.

    Subject: empty or `lost`. Do: look at the disk and the rights of the folder `audit`."""
    ORDER_UNKNOWN = "order_unknown"
    """For over a minute it is not known whether a broker has an order.

    Subject: the leg's id. Do: look for the order at the broker. It is never sent again."""
    UNPROTECTED = "unprotected"
    """Units of an open parent stand without their stop.

    Subject: the parent's id. Do: close the units, or place a stop."""
    TROUBLE = "trouble"
    """An open parent has another trouble: orders that nobody watches, or that are still to be cancelled, or that are waited for; an instrument
    that is not in the list.

    Subject: the parent's id. Do: look at the broker's order book."""
    STRANGER = "stranger"
    """A broker has an order with a token of this engine that neither the engine nor the store knows.

    Subject: the order id. Do: look at the order at the broker. Nothing is done to it."""
    TAKEN_BACK = "taken_back"
    """The exchange has annulled a trade of an order that is not the engine's, and units are held there. A plan that had ended because this order
    closed its units guards them no longer.

    Subject: the order id. Do: look at the position at the broker. It is a problem until nothing is held there, or the next broking day."""
    POSITION = "position"
    """For over 10 s a broker shows other units of a position than its own orders give.

    Subject: the instrument at the broker and the product. Do: look at the position at the broker."""
    HALT = "halt"
    """Trading is halted by hand, or it is not known yet whether it is.

    Do: `onebroker resume`."""
    LOSS = "loss"
    """New orders are refused because of the daily loss limit, or because the day's loss is not known.

    Do: wait for the next 07:00, or for the brokers' figures."""
    ENGINE = "engine"
    """The order engine does not take orders, or open orders do not act.

    Subject: empty or `orders`. Do: what the words name."""
    CATALOGUE = "catalogue"
    """There is no list of instruments, or today's is missing, or its last build failed, or a broker's file is missing in it.

    Subject: empty, `build` or `files`. Do: `onebroker instruments sync`."""
    CANDLES = "candles"
    """Day candles are overdue for more than an hour, not counting the time in which the market trades.

    Subject: the market. Do: what the words name."""
    CLOCK = "clock"
    """The brokers' clocks differ from the clock of this machine by more than 2 s.

    Do: synchronise the clock of the machine (NTP)."""
    CHARGES = "charges"
    """The charges tables were last compared with their sources over a year ago.

    Do: give today's rates in the file of `[charges]`."""
    CONNECTIONS = "connections"
    """All connections for clients are in use.

    Do: close clients that are not needed."""
    ALERTS = "alerts"
    """A receiver of alerts has taken no message for 5 minutes.

    Subject: the receiver's number and scheme. Do: look at its URL in `alerts.to`, then try it: `onebroker alerts test`."""


@attrs.frozen(kw_only=True)
class Problem:
    """One thing that is wrong now. Kind, broker and subject are its identity; its words may change while it stands."""

    kind: ProblemKind
    broker: str | None = None
    """Broker code; None = not of one broker."""
    subject: str = ""
    """Tells problems of one kind and broker apart: a resource, a parent's id, an actor's name."""
    what: str
    """What is wrong, with the broker's words where there are such."""
    do: str
    """What the reader can do."""
    since: float | None = None
    """Epoch seconds since which it is wrong, where the source knows it. None = since the first look that found it."""

    @property
    def identity(self) -> tuple[ProblemKind, str | None, str]:
        return (self.kind, self.broker, self.subject)


@attrs.frozen(kw_only=True)
class Standing:
    """A problem, and since when it is there."""

    problem: Problem
    since: float
    """Epoch seconds."""
