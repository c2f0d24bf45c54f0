"""Details of many instruments (rules 1.4.6) over the catalogue's own actor: answered from the mapped file, whatever their number."""

from datetime import date
from pathlib import Path

import pytest

from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.token.state import NO_TOKEN, connected, hold
from onebroker.config.calendars import always_open
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.services import InstrumentServices, Services

OLDER = date(2026, 11, 23)


class Counting(MemoryDurable):
    """Counts its calls."""

    calls = 0

    async def _contact(self):
        self.calls += 1
        await super()._contact()


def client_of(running, clock):
    book = open_mailbox("the quote book", capacity=8).address
    quotes = Quotes(
        book=Published(QuoteBook(())), address=book, catalogue=running.published, calendar=always_open(), clock=clock
    )
    services = Services(
        clock=clock, settings=ServiceSettings(data_dir=Path("/nonexistent")),
        token=Published(hold(connected(NO_TOKEN, clock.now(), 86_400, lambda: "token"))),
        token_actor=open_mailbox("the token actor", capacity=1).address, actors=dict, crashes=tuple,
        store_reachable=lambda: True,
        instruments=InstrumentServices(
            catalogue=running.published, catalogue_actor=running.address, quotes=quotes, quote_book=book
        ),
    )  # fmt: skip
    return build_app(services).test_client()


@pytest.mark.parametrize("path", ["details", "additional_details"])
@pytest.mark.parametrize("day", [None, OLDER])
async def test_the_stores_round_trips_of_a_list_do_not_grow_with_it(autojump_clock, world, day, path):
    house = world(durable=Counting())
    async with house.running() as running:
        first = (await running.mapped()).latest
        house.server.bodies["zerodha"] = house.server.bodies["zerodha"].rsplit(b"\n", 2)[0] + b"\n"
        latest = (await running.until(lambda state: state.latest is not first)).latest
        asked = latest if day is None else first
        for count in (1, 300):
            before = house.durable.calls
            ids = [asked.at(row).instrument_id for row in range(min(count, asked.count))]
            response = await client_of(running, house.clock).post(
                f"/api/instruments/{path}",
                json={"instruments": [{"instrument_id": one} for one in ids], "date": day and day.isoformat()},
                headers={"access-token": "token"},
            )
            entries = (await response.get_json())["results"]
            assert [entry["status"] for entry in entries] == [200] * count
            assert response.headers["X-Mapping-Date"] == asked.mapping_date.isoformat()
            assert house.durable.calls == before  # it was asked for its rows when the actor started
        assert before > 0
