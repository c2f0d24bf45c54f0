"""The words of the messages: for each event a title, and lines with the broker's words, the ids, the instrument and what to do. Pure."""

from collections.abc import Callable, Iterator
from decimal import Decimal

import attrs

from onebroker.config.alert_kinds import AlertKind
from onebroker.config.events import (
    CalendarEnds,
    ExposureProtected,
    ExposureUnprotected,
    HaltOff,
    HaltOn,
    LoginNeeded,
    LoginRefused,
    LossLevel,
    OrderFilled,
    OrderRejected,
    OrderSent,
    OrderSettled,
    OrderUnknown,
    ParentMoved,
    ProblemBegan,
    ProblemOver,
)
from onebroker.config.instruments import Identity, strike_text

MOST_WORDS = 500
"""Characters of a broker's or a person's words that a message repeats."""

Names = Callable[[str], Identity | None]
"""Returns what the catalogue knows of an instrument id; None when it does not know the id."""

Text = tuple[str, tuple[str, ...]]
"""Title and lines."""


def instrument_words(instrument_id: str, names: Names) -> str:
    """Return an instrument as a person names it, such as `NIFTY 2026-12-31 24000 CE (nse)`; its id where the catalogue does not know it."""
    identity = names(instrument_id)
    if identity is None:
        return f"instrument {instrument_id}"
    parts = [
        identity.symbol or identity.underlying_symbol or instrument_id,
        identity.expiry_date,
        None if identity.strike_price is None else strike_text(identity.strike_price),
        identity.option_type,
    ]
    return f"{' '.join(part for part in parts if part)} ({identity.exchange})"


@attrs.frozen
class Wording:
    """Writes the texts; `names` gives instruments their names."""

    names: Names

    def rejected(self, event: OrderRejected, sent: OrderSent | None) -> Text:
        return f"order rejected at {event.broker}", (
            _quoted(event.broker, event.words),
            *self._order(sent, event.order_id, event.parent, event.leg),
            "The broker has no such order. Read its words before you send another one.",
        )

    def unknown(self, event: OrderUnknown, sent: OrderSent | None, seconds: float) -> Text:
        return f"order unknown at {event.broker}", (
            _quoted(event.broker, event.words),
            *self._order(sent, None, event.parent, event.leg),
            f"For {seconds:.0f} seconds nobody knows whether {event.broker} has this order. It is looked for and never sent again.",
            f"Look at the order book of {event.broker}. Do not send the order again yourself before you know.",
        )

    def settled(self, event: OrderSettled, sent: OrderSent | None) -> Text:
        return f"order known again at {event.broker}: {event.state}", (
            *([_quoted(event.broker, event.words)] if event.words else ()),
            *self._order(sent, event.order_id, event.parent, event.leg),
            f"The order of unknown outcome is {event.state}.",
        )

    def failed(self, event: ParentMoved, sent: OrderSent | None) -> Text:
        return f"{event.type} order failed", (
            f"reason: {_cut(event.words or 'not told')}",
            *self._order(sent, None, event.parent, None),
            "The engine does nothing more for this order. Look at its legs and at your positions.",
        )

    def unprotected(self, event: ExposureUnprotected) -> Text:
        name = instrument_words(event.instrument, self.names)
        return f"position without its stop: {event.units} {name}", (
            f"{event.units} units of {name} are open without a stop",
            *(() if event.why is None else (f"reason: {_cut(event.why)}",)),
            f"parent {event.parent}",
            "Look at the parent's legs; place a stop or close the units yourself if it stays.",
        )

    def protected(self, event: ExposureProtected) -> Text:
        name = instrument_words(event.instrument, self.names)
        return f"protected again: {event.units} {name}", (
            f"{event.units} units of {name} are guarded again, or closed",
            f"parent {event.parent}",
        )

    def filled(self, event: OrderFilled) -> Text:
        name = instrument_words(event.instrument, self.names)
        price = "" if event.average_price is None else f" at ₹{event.average_price:g} on average"
        return f"filled at {event.broker}: {event.side} {event.added} {name}", (
            f"{event.filled} of {event.quantity} units are filled{price}",
            *self._order(None, event.order_id, event.parent, event.leg),
        )

    def loss(self, event: LossLevel) -> Text:
        past = (
            "New entries are refused."
            if event.percent >= 100
            else "New entries are refused when the loss passes the limit."
        )
        return f"day's loss at {event.percent} % of its limit", (
            f"loss {_rupees(event.loss)}, limit {_rupees(event.limit)}",
            f"{past} Exits and cancels leave as always.",
        )

    def halted(self, event: HaltOn) -> Text:
        passing = "exits and cancels" if event.mode == "reduce_only" else "cancels only"
        return "trading is halted", (
            f"reason: {_cut(event.reason)}",
            f"mode {event.mode}: {passing} leave",
            "To go on: onebroker resume",
        )

    def resumed(self, event: HaltOff) -> Text:
        return "trading goes on", ("The halt has ended.",)

    def login_needed(self, event: LoginNeeded) -> Text:
        return f"login needed at {event.broker}", (
            _quoted(event.broker, event.why),
            _login_advice(event.broker, event.by_person),
        )

    def login_refused(self, event: LoginRefused) -> Text:
        return f"login refused by {event.broker}", (
            _quoted(event.broker, event.words),
            f"Check the keys of {event.broker} in the settings; then: onebroker login {event.broker}",
        )

    def logins(self, needed: tuple[tuple[str, bool], ...]) -> Text:
        codes = ", ".join(code for code, _ in needed)
        return f"logins needed: {codes}", tuple(_login_advice(code, by_person) for code, by_person in needed)

    def calendar(self, event: CalendarEnds) -> Text:
        return "the trading calendar ends soon", (
            f"{', '.join(event.exchanges)}: the holidays are known until {event.last_day}",
            "Import new exchange documents: onebroker import exchanges FILE",
        )

    def problem(self, event: ProblemBegan, kind: AlertKind) -> Text:
        title = _PROBLEM_TITLES.get(kind, event.kind.replace("_", " "))
        about = " ".join(part for part in (event.broker, event.subject) if part)
        return f"{title}{': ' if about else ''}{about}", (_cut(event.words), f"What to do: {_cut(event.do)}")

    def problem_over(self, event: ProblemOver, kind: AlertKind) -> Text:
        title = _OVER_TITLES.get(kind, f"over: {event.kind.replace('_', ' ')}")
        about = event.broker or event.subject or ""
        return f"{title}{': ' if about else ''}{about}", (
            f"It stood for {_duration(event.seconds)}. Its last words: {_cut(event.words)}",
        )

    def _order(
        self, sent: OrderSent | None, order_id: str | None, parent: str | None, leg: str | None
    ) -> Iterator[str]:
        if sent is not None and sent.instrument is not None:
            size = " ".join(str(part) for part in (sent.side, sent.quantity) if part is not None)
            yield f"{size} {instrument_words(sent.instrument, self.names)}".strip()
        if order_id is not None:
            yield f"order {order_id}"
        if parent is not None:
            yield f"parent {parent}" if leg is None else f"parent {parent}, leg {leg}"


_PROBLEM_TITLES = {
    AlertKind.BROKER: "broker away",
    AlertKind.FEED: "feed silent",
    AlertKind.STORE: "store away",
    AlertKind.DISK: "room runs out",
    AlertKind.CRASH: "part down",
}
_OVER_TITLES = {
    AlertKind.BROKER: "broker back",
    AlertKind.FEED: "feed back",
    AlertKind.STORE: "store back",
    AlertKind.DISK: "room again",
    AlertKind.CRASH: "part up again",
}


def _login_advice(broker: str, by_person: bool) -> str:
    if by_person:
        return f"{broker}: a person must log in: onebroker login {broker}"
    return f"{broker}: the login without a person does not work: check its settings, then onebroker login {broker}"


def _quoted(who: str, words: str | None) -> str:
    return f"{who}: {_cut(words)}" if words else f"{who} gave no words"


def _cut(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]} …"


def _rupees(amount: Decimal) -> str:
    return f"₹{amount:,.2f}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
