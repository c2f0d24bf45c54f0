"""The open net positions that the brokers show, for the code that judges orders by them. Values only."""

import attrs

from onebroker.actors.engine.orders.part_state import Holding
from onebroker.actors.engine.plan.parts import FromPosition


@attrs.frozen(kw_only=True)
class Positions:
    """The net positions that the brokers show."""

    nets: tuple[tuple[Holding, int], ...]
    """Signed units of net rows, none of them zero."""
    unread: tuple[str, ...] = ()
    """Codes of the brokers that should show their positions but do not."""

    def of(self, form: FromPosition) -> tuple[tuple[Holding, int], ...]:
        """Return the rows that a part with this quantity would close."""
        return tuple(
            (holding, net)
            for holding, net in self.nets
            if form.product in (None, holding.product)
            and (form.every_instrument or holding.instrument_id in form.instrument_ids)
        )
