"""A broker's results and balances as plans may act on them: a figure that jumps by more than the quotes of its positions explain waits for a second
figure, from a read begun later (order-engine 3.45; `context/second_figures.py`).

A broker's row can be wrong for one read: a result of minus half a million, and half a second later zero again. A stop on the joint result of positions
closed everything by it. The day's loss has the same rule (`context/day_loss.py`).

How far quotes explain a jump: for each instrument that the broker shows, its units times the way of our own quote since the believed figure, and 0.5 % of
their value, because the broker's last price and ours are not of one moment. Fills change the units; the larger number counts. An instrument without
a usable quote explains nothing: its figures are then followed one read behind, and that read is asked for at once.

While a figure is doubted the believed one stays in force, for 30 s at most. After that nothing is known, and the condition waits.
"""

from collections.abc import Hashable, Iterable

import attrs

from onebroker.actors.engine.context.engine_context import EngineContext, Standing
from onebroker.actors.quotes.doubted_ticks import STRAY
from onebroker.actors.sessions.messages import ReadSoon
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import PositionRow
from onebroker.config.money import value_paise

KEPT_SECONDS = 30.0
"""A figure that nobody asked about for so long is forgotten; a believed figure older than this counts as none."""
LEAST_PAISE = 100


@attrs.frozen
class Believed:
    """A broker's figure that may be acted on, in paise."""

    paise: int
    first: int
    """The figure from which gains are counted where nothing was counted before."""


@attrs.frozen
class WitnessedFigures:
    """Judges the figures of all brokers; what it remembers is shared by all plans of the engine."""

    _context: EngineContext

    def result(
        self, code: str, scope: Hashable, paise: int, began: float, rows: Iterable[PositionRow], *, waits: bool = True
    ) -> Believed | None:
        """Return a broker's result of positions; None while a first figure waits for a second one, or when none is believed any more.

        `scope`: what the figure is of. `began`: when its read began, in seconds of the same clock for all figures of the scope. `waits`: whether a
        first figure waits.
        """
        return self._judge(code, ("result", scope), paise, began, rows, "positions", waits=waits)

    def balance(self, code: str, name: str, paise: int, received_at: float) -> int | None:
        """Return a figure of a broker's funds (paise, epoch seconds) in the same way; a first figure counts at once."""
        rows = self._context.sessions[code].view.value.positions
        believed = self._judge(code, ("funds", name), paise, received_at, rows, "funds", waits=False)
        return None if believed is None else believed.paise

    def _judge(
        self,
        code: str,
        scope: Hashable,
        paise: int,
        moment: float,
        rows: Iterable[PositionRow],
        resource: Resource,
        *,
        waits: bool,
    ) -> Believed | None:
        judged = self._context.figures.judge(
            (code, scope),
            paise,
            moment,
            self._standing(code, rows),
            _explained,
            first_waits=waits,
            kept_seconds=KEPT_SECONDS,
        )
        if judged is None or judged.doubts:
            self._context.sessions[code].address.replace(f"{resource} soon", ReadSoon(resource))
        if judged is None or moment - judged.moment > KEPT_SECONDS:
            return None
        return Believed(int(judged.value), int(judged.first))

    def _standing(self, code: str, rows: Iterable[PositionRow]) -> Standing:
        """Return what the rows hold, with the prices of our quotes; asking starts watching the instruments."""
        latest = self._context.catalogue.value.latest if rows else None
        found: dict[str, tuple[int, float | None]] = {}
        for row in rows:
            instrument_id = None if latest is None else latest.by_token(code, row.instrument_token)
            if instrument_id is None or row.view == "day":
                continue
            units, price = found.get(instrument_id, (0, None))
            if instrument_id not in found:
                quote = self._context.quotes.usable_quote(instrument_id)
                price = None if quote is None else quote.tick.last_price
            found[instrument_id] = (units + (row.quantity or 0), price)
        return found


def _explained(_: float, before: Standing, now: Standing) -> float:
    """Return by how many paise the quotes explain that a figure has moved."""
    paise = LEAST_PAISE
    for instrument_id in before.keys() | now.keys():
        earlier, earlier_price = before.get(instrument_id, (0, None))
        units, price = now.get(instrument_id, (0, earlier_price))
        if price is None:
            continue
        way = 0.0 if earlier_price is None else abs(price - earlier_price)
        paise += value_paise(max(abs(earlier), abs(units)), way + STRAY * price)
    return paise
