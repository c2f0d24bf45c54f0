"""The order that a type reads its settings for (order-engine 3.0). Pure; raises Refusal 400."""

from datetime import date, datetime
from decimal import Decimal

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.reading.reading_context import Defaults, World, tick_of
from onebroker.config.calendars import Session
from onebroker.config.instruments import bare_segment
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OrderType, Side


@attrs.frozen(kw_only=True)
class Body:
    """The checked order to which the settings belong; prices in rupees, quantities in units."""

    defaults: Defaults
    world: World
    path: str = ""
    """The type's place in a plan; empty for an order of its own."""
    priced_later: bool = False
    """A price reference gives the price. Until then the price is None, and checks that need it are made later."""
    sided_later: bool = False
    """A closing quantity reference gives the side and the quantity. Checks that need them are made later."""

    @property
    def instrument(self) -> Instrument:
        """Raises Refusal 400 when no instrument is named (a preset part of a plan without a body's instrument)."""
        if self.defaults.instrument is None:
            raise self.refusal(texts.is_required("instrument_id"))
        return self.defaults.instrument

    @property
    def segment(self) -> str:
        """The bare segment."""
        return bare_segment(self.instrument.identity.segment)

    @property
    def tick(self) -> Decimal | None:
        """Rupees; None = the brokers agree on no tick."""
        return tick_of(self.instrument)

    @property
    def lot(self) -> int:
        return self.instrument.lot_size or 1

    @property
    def side(self) -> Side:
        if self.defaults.transaction_type is None:
            raise self.refusal(order_texts.must_be_one_of("transaction_type", tuple(Side)))
        return Side(self.defaults.transaction_type)

    @property
    def order_type(self) -> OrderType:
        if self.defaults.order_type is None:
            raise self.refusal(order_texts.must_be_one_of("order_type", tuple(OrderType)))
        return OrderType(self.defaults.order_type)

    @property
    def limit(self) -> Decimal | None:
        """The body's price, when it has one; a MARKET body has no price."""
        return self.defaults.price

    @property
    def quantity(self) -> int | None:
        """None: left out, or the filled quantity (below a link)."""
        return None if self.defaults.linked else self.defaults.quantity

    @property
    def now(self) -> datetime:
        return self.world.now

    def sessions(self, day: date | None = None) -> tuple[Session, ...]:
        """Return the instrument's sessions of a day, today's by default; empty on a holiday."""
        return self.world.sessions(self.instrument, day or self.now.date())

    def refusal(self, sentence: str, status: int = 400) -> Refusal:
        return Refusal(status, texts.at(self.path, sentence))
