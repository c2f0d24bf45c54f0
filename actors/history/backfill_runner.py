"""Runs one backfill: chooses the instruments, continues after the finished work of an earlier run, and shows its progress."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import attrs
import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.history import daily_schedule
from onebroker.actors.history.backfill_job import (
    KEPT_SECONDS,
    BackfillOrder,
    BackfillProgress,
    Summary,
    Tally,
    not_listed,
    not_over,
    remembered,
    summary,
    write_report,
)
from onebroker.actors.history.candle_jobs import Job, Part
from onebroker.actors.history.candle_run import CandleRunContext, Gathering, Orders, all_factors, can_read
from onebroker.actors.history.selection import Choosing
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Durable
from onebroker.config.calendars import Calendar


class BackfillRefused(Exception):
    """Nothing was read; the text is for the person who gave the order."""


@attrs.frozen(kw_only=True)
class Backfiller:
    """Runs backfills, one at a time."""

    context: CandleRunContext
    choosing: Choosing
    catalogue: Published[CatalogueState]
    durable: Durable
    calendar: Calendar
    reports: Path
    """Folder of the reports of refused candles."""
    progress: Published[BackfillProgress | None]
    """None while no backfill runs."""

    async def run(self, order: BackfillOrder) -> Summary:
        """Return the summary. Raises BackfillRefused, TooMany, and the errors of the stores and of the history actor."""
        try:
            return await self._fill(order.up_to(self.context.clock.today()))
        finally:
            self.progress.set(None)

    async def _fill(self, order: BackfillOrder) -> Summary:
        codes = self._codes(order)
        selected = await self.choosing.chosen(order.selection, order.interval)
        tally = Tally()
        for body in await self.durable.backfill_parts(order.name):
            with suppress(msgspec.MsgspecError):  # written by another version: read these again
                tally.add(msgspec.json.decode(body, type=Part))
        before = len(tally.done)
        jobs = [
            job
            for instrument in selected.instruments
            if instrument.instrument_id not in tally.done and (job := self._job(instrument, order))
        ]
        ended = [job for job in jobs if job.first <= job.last]
        lost = [not_over(job) for job in jobs if job.first > job.last]
        lost += [not_listed(instrument_id) for instrument_id in selected.unlisted if instrument_id not in tally.done]
        await self._gather(order, codes, ended, tally, len(jobs) + len(selected.unlisted) + before)
        tally.add(Part(outcomes=tuple(lost)))
        report = write_report(tally.outcomes, self.reports / f"backfill-{order.name}.csv")
        done = summary(tally, before, report)
        if not done.later:
            await self.durable.forget_backfill(order.name, self.context.clock.epoch() - KEPT_SECONDS)
        return done

    def _codes(self, order: BackfillOrder) -> tuple[str, ...]:
        """Return the brokers that may be asked. Raises BackfillRefused when no broker can be asked."""
        sessions = self.context.sessions
        if order.broker is not None and order.broker not in sessions:
            raise BackfillRefused(f"{order.broker} is not one of the brokers in service: {', '.join(sessions)}")
        if self.catalogue.value.latest is None:
            raise BackfillRefused("no instruments have been mapped yet; try again when the catalogue is built")
        if (refusal := self.context.room.value.refusal) is not None:
            raise BackfillRefused(refusal)
        codes = tuple(sessions) if order.broker is None else (order.broker,)
        if not any(can_read(self.context.sessions[code]) for code in codes):
            raise BackfillRefused(f"no broker can be asked for candles: no login at {', '.join(codes)}")
        return codes

    def _job(self, instrument: Instrument, order: BackfillOrder) -> Job:
        market, today = daily_schedule.market_of(instrument.identity), self.context.clock.today()
        ended = daily_schedule.last_ended_day(self.calendar, market, self.context.clock.now())
        last = min(order.last or today, today - timedelta(days=1) if ended is None else ended)
        return Job(instrument=instrument, interval=order.interval, first=order.first, last=last)

    async def _gather(
        self, order: BackfillOrder, codes: Sequence[str], jobs: Sequence[Job], tally: Tally, instruments: int
    ) -> None:
        async def taken(part: Part) -> None:
            body = msgspec.json.encode(remembered(part))
            await self.durable.add_backfill_part(order.name, self.context.clock.epoch(), body)
            tally.add(part)
            show()

        def show() -> None:
            shares = gathering.brokers.shares
            self.progress.set(
                BackfillProgress(
                    instruments=instruments,
                    done=len(tally.done),
                    rows=tally.rows,
                    refused=tally.refused,
                    unread=tally.unread,
                    brokers={code: attrs.evolve(share) for code, share in shares.items()},
                )
            )

        orders = Orders(
            jobs=jobs,
            codes=codes,
            factors=await all_factors(self.durable),
            stop=lambda: False,
            taken=taken,
            stepped=show,
        )
        gathering = Gathering(self.context, orders)
        show()
        await gathering.run()
