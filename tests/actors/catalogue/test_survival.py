"""What happens to the brokers' files, to the disk and to the process must cost what it hits, and never the service."""

import errno
import functools
import gzip
import io
import logging
import zipfile
from datetime import date, datetime, timedelta

import msgspec
import polars as pl
import pytest
import trio

from onebroker.actors.catalogue import archive, arrow_files
from onebroker.actors.catalogue.archive import stored_report
from onebroker.actors.catalogue.build import build_catalogue
from onebroker.actors.catalogue.builder import BuildFailed
from onebroker.actors.catalogue.in_process_builder import InProcessBuilder
from onebroker.actors.catalogue.incoming_files import IncomingMemory
from onebroker.actors.catalogue.messages import BuildNow
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import NotSent, OutcomeUnknown
from onebroker.config.clock import IST

pytestmark = pytest.mark.day

DAY = date(2026, 11, 23)
TUESDAY = date(2026, 11, 24)
NINE = datetime(2026, 11, 23, 9, 30, tzinfo=IST)
CODES = tuple(build_registry())
NEIGHBOUR = {code: "upstox" if code == "zerodha" else "zerodha" for code in CODES}
HEADERLESS = {"fyers"}
"""Its CSVs name no column: in another order they are not its files any more."""


# One broker's dump is not what it should be


def reordered(body):
    """The same file with its columns, or the keys of its objects, in reverse."""
    if body.startswith(b"\x1f\x8b"):
        return gzip.compress(reordered(gzip.decompress(body)))
    if body.startswith(b"PK"):
        packed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(packed, "w") as new:
            for name in old.namelist():
                new.writestr(name, reordered(old.read(name)))
        return packed.getvalue()
    if body[:1] in (b"[", b"{"):
        rows = msgspec.json.decode(body)
        return msgspec.json.encode([dict(reversed(row.items())) for row in rows] if isinstance(rows, list) else rows)
    table = pl.read_csv(io.BytesIO(body), infer_schema=False, truncate_ragged_lines=True)
    return table.select(reversed(table.columns)).write_csv().encode()


DAMAGE = {
    "empty": lambda body: b"",
    "cut in the middle": lambda body: body[: len(body) // 2],
    "a page of HTML": lambda body: b"<html><body>We are down for maintenance.</body></html>",
    "of other columns": lambda body: b"a,b\n1,2\n",
    "with its columns in another order": reordered,
}


def built(ten, tmp_path, codes, change=None):
    bodies = {}
    for code in codes:
        own = [ten.bodies[code, name] for name in ten.files_of(code)]
        if change is not None and code == codes[0]:
            own = [change(body) if body else body for body in own]
        bodies[code] = own
    registry = {code: ten.registry[code] for code in CODES if code in codes}
    path = tmp_path / "x.arrow"
    return build_catalogue(bodies, {}, path, registry, DAY), path


@pytest.fixture(scope="module")
def whole_of(ten, tmp_path_factory):
    """Return `whole_of(code)`: the report of a build of the undamaged dumps of a broker and its neighbour, built once."""
    folder = tmp_path_factory.mktemp("whole")
    return functools.cache(lambda code: built(ten, folder, [code, NEIGHBOUR[code]])[0])


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("code", CODES)
def test_a_damaged_dump_costs_its_broker_alone(ten, whole_of, tmp_path, code, kind):
    whole = whole_of(code)
    report, _ = built(ten, tmp_path, [code, NEIGHBOUR[code]], DAMAGE[kind])
    assert whole.brokers[code].rows > 50
    assert whole.brokers[code].error is None
    assert report.brokers[NEIGHBOUR[code]].rows == whole.brokers[NEIGHBOUR[code]].rows
    hit = report.brokers[code]
    if kind == "with its columns in another order" and code not in HEADERLESS:
        assert (hit.rows, hit.segments) == (whole.brokers[code].rows, whole.brokers[code].segments)
    elif kind == "cut in the middle":
        assert hit.rows < whole.brokers[code].rows
    else:
        assert hit.error
        assert hit.rows == 0


# One of several files


def house_of(world, ten, *codes, **more):
    return world(
        registry={code: ten.registry[code] for code in codes}, sources={code: ten.sources[code] for code in codes},
        server=ten.server(), **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("code", "file", "lost", "damage"),
    [
        ("fyers", "NSE_FO.csv", "nse_equity_options", 404),
        ("fyers", "NSE_FO.csv", "nse_equity_options", NotSent("the connection was refused")),
        ("fyers", "NSE_CD.csv", "nse_currency_futures", b"<html>"),
        ("fyers", "index_hsm_mapping.json", "nse_equity_indices", OutcomeUnknown("no answer within 180 s")),
        ("fyers", "NSE_FO_sym_master.json", None, 503),
        ("kotakneo", "cde_fo.csv", "nse_currency_futures", 404),
        ("kotakneo", "nse_fo.csv", "nse_equity_options", b""),
        ("shoonya", "NFO_symbols.txt.zip", "nse_equity_options", b"PK cut"),
        ("shoonya", "MCX_symbols.txt.zip", "mcx_commodity_futures", 500),
    ],
)
async def test_one_missing_file_of_several_costs_what_it_holds_until_a_later_build_brings_it(
    autojump_clock, world, ten, caplog, code, file, lost, damage
):
    house = house_of(world, ten, code, "zerodha")
    house.server.bodies[code, file] = damage
    async with house.running() as running:
        state = await running.mapped()
        assert list(state.missing) == [code]
        assert list(state.missing[code]) == [file]
        assert state.missing[code][file]
        assert (state.lost, state.published_today) == ({}, True)
        assert f"{code}: 1 of its files gave nothing: {file}" in caplog.text
        report = stored_report((await house.durable.catalogue_files())[0])
        segments = report.brokers[code].segments
        assert report.missing == {code: state.missing[code]}
        assert lost not in segments
        assert len(segments) > 2
        house.server.bodies[code, file] = ten.bodies[code, file]
        state = await running.until(lambda state: not state.missing)
        assert house.clock.now() - NINE < timedelta(minutes=2)
        whole = stored_report((await house.durable.catalogue_files())[0])
        assert lost is None or whole.brokers[code].segments[lost] > 0
        assert segments.items() <= whole.brokers[code].segments.items()


async def test_a_broker_none_of_whose_files_comes_is_lost(autojump_clock, world, ten):
    house = house_of(world, ten, "kotakneo", "zerodha")
    for name in ten.files_of("kotakneo"):
        house.server.bodies["kotakneo", name] = 404
    async with house.running() as running:
        state = await running.mapped()
        assert (state.lost, state.missing) == ({"kotakneo": "its file was answered with HTTP 404"}, {})


async def test_a_build_that_would_lose_a_file_of_todays_mapping_replaces_nothing(autojump_clock, world, ten):
    house = house_of(world, ten, "fyers", "zerodha")
    async with house.running() as running:
        before = (await running.mapped()).latest
        house.server.bodies["fyers", "NSE_FO.csv"] = 404
        with pytest.raises(BuildFailed, match=r"it would lose fyers NSE_FO\.csv: its file was answered with HTTP 404"):
            await running.address.ask(BuildNow, 60)
        assert running.published.value.latest is before
        assert running.published.value.published_today
        assert "it would lose fyers NSE_FO.csv" in running.published.value.trouble
        house.server.bodies = dict(ten.bodies)
        await running.until(lambda state: state.trouble is None)


async def test_a_broker_that_was_lost_may_come_back_in_part(autojump_clock, world, ten):
    house = house_of(world, ten, "fyers", "zerodha")
    for name in ten.files_of("fyers"):
        house.server.bodies["fyers", name] = 404
    async with house.running() as running:
        assert list((await running.mapped()).lost) == ["fyers"]
        house.server.bodies = dict(ten.bodies) | {("fyers", "NSE_FO.csv"): 404}
        report = await running.address.ask(BuildNow, 60)
        assert (report.lost, list(report.missing["fyers"])) == ({}, ["NSE_FO.csv"])
        assert (running.published.value.lost, list(running.published.value.missing)) == ({}, ["fyers"])


async def test_a_slow_host_of_many_files_does_not_hold_up_the_build_for_long(autojump_clock, world, ten):
    house = house_of(world, ten, "fyers", "zerodha")
    answer = house.server.send

    async def slowly(request, timeout_seconds):
        if "fyers" in request.url:
            await trio.sleep(timeout_seconds)
            raise OutcomeUnknown(f"no answer within {timeout_seconds:g} s")
        return await answer(request, timeout_seconds)

    house.server.send = slowly
    async with house.running() as running:
        state = await running.mapped()
        assert "fyers" in state.lost
        assert house.clock.now() - NINE <= timedelta(minutes=11)


# Far fewer rows than before


async def test_a_file_of_far_fewer_rows_is_said_in_log_report_and_state_and_still_after_a_restart(
    autojump_clock, world, ten, caplog
):
    house = house_of(world, ten, "groww", "zerodha")
    async with house.running() as running:
        first = (await running.mapped()).latest
        rows = stored_report((await house.durable.catalogue_files())[0]).brokers["groww"].segments["nse_equity_options"]
        lines = house.server.bodies["groww", "instrument.csv"].splitlines(keepends=True)
        kept = [line for line in lines if b",CE," not in line and b",PE," not in line]
        house.server.bodies["groww", "instrument.csv"] = b"".join(kept)
        state = await running.until(lambda state: state.latest is not first)
        assert state.shrunk["groww"]["nse_equity_options"] == rows > 0
        assert "zerodha" not in state.shrunk
        assert f"groww lists 0 instruments in nse_equity_options, after {rows}" in caplog.text
        report = await running.address.ask(BuildNow, 60)
        assert report.shrunk == state.shrunk  # yesterday is what it is compared with, not the last build
    async with house.running() as running:
        assert running.published.value.shrunk == state.shrunk


# The disk


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


class Full(IncomingMemory):
    """The disk is full at one step of a file's way, if it is `hit`."""

    def __init__(self, step, hit):
        super().__init__()
        if hit:
            setattr(self, step, self._full)

    async def _full(self, *_):
        full()


@pytest.mark.parametrize("place", [(arrow_files, "write_ipc"), (archive, "move_into_place")])
async def test_a_full_disk_leaves_the_old_mapping_and_says_why(autojump_clock, world, monkeypatch, caplog, place):
    house = world()
    async with house.running() as running:
        first = (await running.mapped()).latest
        house.server.bodies["zerodha"] = house.server.bodies["zerodha"].rsplit(b"\n", 2)[0] + b"\n"
        with monkeypatch.context() as broken:
            broken.setattr(*place, full)
            state = await running.until(lambda state: state.trouble is not None)
            assert state.latest is first
            assert "No space left on device" in state.trouble
            assert state.published_today
            state = await running.until(lambda state: not state.published_today)
            assert house.clock.now() == NINE.replace(hour=9, minute=0) + timedelta(days=1)
            assert "No space left on device" in state.reason
        state = await running.until(lambda state: state.published_today)
        assert (state.trouble, state.latest.mapping_date) == (None, TUESDAY)
        assert running.crashes.records() == ()
        assert [path.name for path in house.folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("step", ["begin", "take", "kept"])
async def test_a_full_disk_while_a_file_comes_loses_its_broker_at_once_and_says_why(
    autojump_clock, world, monkeypatch, step
):
    house = world()
    async with house.running() as running:
        first = (await running.mapped()).latest
        asked = house.server.requests.count("zerodha")
        with monkeypatch.context() as broken:
            broken.setattr(InProcessBuilder, "incoming", lambda self, name: Full(step, name == "zerodha-0"))
            state = await running.until(lambda state: state.latest is not first)
            assert state.lost == {"zerodha": "its file cannot be kept: No space left on device"}
            assert state.latest.listings("upstox")
            # Sent again, it would have found the disk as full.
            assert house.server.requests.count("zerodha") == asked + (step != "begin")
        await running.until(lambda state: not state.lost)
        assert running.crashes.records() == ()


async def test_a_full_disk_before_files_come_leaves_the_old_mapping_and_says_why(autojump_clock, world, monkeypatch):
    house = world()
    async with house.running() as running:
        first = (await running.mapped()).latest
        with monkeypatch.context() as broken:
            broken.setattr(InProcessBuilder, "begin", full)
            state = await running.until(lambda state: state.trouble is not None)
            assert "there is no place for its files: No space left on device" in state.trouble
            assert state.latest is first
        await running.until(lambda state: state.trouble is None)
        assert running.crashes.records() == ()


async def test_a_folder_that_cannot_be_made_is_said_by_each_build(autojump_clock, world):
    house = world()
    house.folder.write_text("a file stands in its place")
    async with house.running() as running:
        state = await running.until(lambda state: state.trouble is not None)
        assert (state.latest, state.published_today) == (None, False)
        house.folder.unlink()
        house.folder.mkdir()
        assert (await running.mapped()).trouble is None


async def test_without_the_durable_store_health_says_that_a_restart_will_not_know_it(autojump_clock, world):
    house = world()
    async with house.running() as running:
        house.durable.fail_with(DurableError("disk"))
        state = await running.mapped()
        assert state.trouble == "it could not be entered in the durable store: disk"
        house.durable.come_back()
        await running.until(lambda state: state.trouble is None)


# A crash between the files and their row


def alone(world, market, **more):
    """A house of zerodha alone: what goes out of its file is listed no more."""
    return world(registry={"zerodha": market.registry["zerodha"]}, **more)


class Dying(MemoryDurable):
    """Its owner dies at the next row it writes, when told to."""

    dying = False

    async def put_catalogue_file(self, file):
        if self.dying:
            self.dying = False
            raise RuntimeError("killed")
        await super().put_catalogue_file(file)


@pytest.mark.parametrize("same_day", [False, True])
async def test_a_crash_between_the_files_and_their_row_leaves_rows_that_name_what_they_describe(
    autojump_clock, world, market, same_day
):
    house = alone(world, market, durable=Dying())
    async with house.running() as running:
        first = (await running.mapped()).latest
        house.server.bodies["zerodha"] = house.server.bodies["zerodha"].rsplit(b"\n", 3)[0] + b"\n"
        if not same_day:
            while house.clock.today() == DAY or house.clock.now().hour < 8:
                await trio.sleep(600)
        house.durable.dying = True
        if same_day:
            with pytest.raises(Exception, match="not running"):
                await running.address.ask(BuildNow, 60)
        await running.until(lambda state: state.latest is not first and not house.durable.dying)
        assert len(running.crashes.records()) == 1
        await trio.sleep(1)
        await running.address.ask(BuildNow, 60)
        rows = await house.durable.catalogue_files()
        assert rows[0].mapping_date == (DAY if same_day else TUESDAY)
        for row in rows:
            assert arrow_files.content_hash_of(house.folder / row.file) == row.content_hash
            report = stored_report(row)
            assert report.content_hash == row.content_hash
        unlisted = stored_report(rows[0])
        assert arrow_files.content_hash_of(house.folder / unlisted.unlisted_file) == unlisted.unlisted.content_hash
        named = {row.file for row in rows} | {unlisted.unlisted_file}
        assert {path.name for path in house.folder.iterdir()} >= named
        assert not [path for path in house.folder.iterdir() if path.name.startswith(".")]
        assert running.published.value.unlisted.count == unlisted.unlisted.rows >= 2


async def test_what_is_no_longer_listed_is_found_the_next_day_and_after_a_restart(autojump_clock, world, market):
    house = world()
    gone = {}
    async with house.running() as running:
        first = (await running.mapped()).latest
        shrunk = dict(house.server.bodies)
        house.server.bodies["zerodha"] = shrunk["zerodha"].rsplit(b"\n", 3)[0] + b"\n"
        house.server.bodies["upstox"] = gzip.compress(b"[]")
        state = await running.until(lambda state: state.latest is not first)
        ids = {first.at(row).instrument_id for row in range(first.count)}
        gone = {one for one in ids if state.latest.instrument(one) is None}
        assert len(gone) >= 2
        for one in gone:
            found = state.find_ever(one)
            assert (found.mapping_date, found.instrument.identity) == (DAY, first.instrument(one).identity)
        for one in ids - gone:
            assert state.find_ever(one).mapping_date == TUESDAY
    async with house.running() as running:
        state = running.published.value
        assert all(state.find_ever(one).mapping_date == DAY for one in gone)
        house.server.bodies = dict(shrunk)
        state = await running.until(lambda state: not state.lost)
        expired = {one for one in gone if str(first.instrument(one).identity.expiry_date or "9") < TUESDAY.isoformat()}
        assert state.unlisted.count == len(expired) < len(gone)
        for one in gone:
            assert state.find_ever(one).mapping_date == (DAY if one in expired else TUESDAY)


@pytest.mark.parametrize("damage", [b"", b"rubbish", None])
async def test_a_lost_file_of_unlisted_instruments_is_said_and_made_again(
    autojump_clock, world, market, caplog, damage
):
    house = alone(world, market)
    async with house.running() as running:
        first = (await running.mapped()).latest
        house.server.bodies["zerodha"] = house.server.bodies["zerodha"].rsplit(b"\n", 3)[0] + b"\n"
        state = await running.until(lambda state: state.latest is not first)
        gone = [first.at(row).instrument_id for row in range(first.count)]
        gone = [one for one in gone if state.latest.instrument(one) is None]
        assert len(gone) == state.unlisted.count == 2
    (path,) = house.folder.glob("unlisted*")
    path.unlink() if damage is None else path.write_bytes(damage)
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        async with house.running() as running:
            assert running.published.value.unlisted.count == 0
            assert "no longer listed cannot be mapped" in caplog.text
            state = await running.until(lambda state: state.unlisted.count)
            assert house.clock.today() == TUESDAY  # it does not wait for the next morning
            assert all(state.find_ever(one).mapping_date == DAY for one in gone)
            assert running.crashes.records() == ()
