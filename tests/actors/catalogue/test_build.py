"""Whole builds from the simulator's own instrument files, in this process and in the worker."""

import subprocess
import sys
from collections import Counter
from datetime import date, timedelta

import msgspec
import pytest
import trio

from onebroker.actors.catalogue.arrow_files import map_frame
from onebroker.actors.catalogue.build import MOST_MEMORY_BYTES, build_catalogue
from onebroker.actors.catalogue.builder import BuildFailed, Downloads, Fetched, ProcessBuilder
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.config.instruments import Identity, Shape
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.day


def built(market, tmp_path, bodies=None, lost=None):
    bodies = market.bodies if bodies is None else bodies
    path = tmp_path / "built.arrow"
    report = build_catalogue(
        {code: [body] for code, body in bodies.items()}, lost or {}, path, market.registry, market.DAY
    )
    return report, path


def test_every_contract_a_broker_lists_is_found_by_its_own_id_with_that_brokers_token(market, tmp_path):
    report, path = built(market, tmp_path)
    snapshot = TableSnapshot(map_frame(path), market.DAY)
    for code, names in market.names.items():
        assert report.brokers[code].rows == len(names) > 300
        assert (report.brokers[code].refused, report.brokers[code].ambiguous) == (0, 0)
        for name in names:
            instrument = snapshot.instrument(name.contract.instrument_id)
            assert instrument is not None, name.contract.identity
            assert instrument.identity == name.contract.identity
            token = instrument.listings[code].broker_token
            assert snapshot.by_token(code, token) == name.contract.instrument_id
    both = {name.contract.instrument_id for names in market.names.values() for name in names}
    assert report.rows == snapshot.count == len(both)


def test_lot_sizes_and_isins_are_the_exchanges_own(market, tmp_path):
    snapshot = TableSnapshot(map_frame(built(market, tmp_path)[1]), market.DAY)
    for name in market.names["upstox"]:
        contract = name.contract
        instrument = snapshot.instrument(contract.instrument_id)
        if not contract.is_index:
            assert (instrument.lot_size, instrument.isin) == (contract.lot_size, contract.isin), contract.identity


def test_the_same_files_give_the_same_bytes(market, tmp_path):
    first, path = built(market, tmp_path)
    bytes_before = path.read_bytes()
    second, path = built(market, tmp_path)
    assert path.read_bytes() == bytes_before
    assert first == second
    assert [child.name for child in tmp_path.iterdir()] == ["built.arrow"]


@pytest.mark.parametrize("broken", [b"", b"<html>busy</html>", b"\x1f\x8bnot gzip", b"[]", b"\xff\xfe\x00"])
@pytest.mark.parametrize("code", ["zerodha", "upstox"])
def test_a_broken_file_loses_its_broker_only_and_says_so(market, tmp_path, code, broken):
    report, path = built(market, tmp_path, {**market.bodies, code: broken})
    other = "upstox" if code == "zerodha" else "zerodha"
    assert set(report.lost) == {code}
    assert report.brokers[other].rows == len(market.names[other])
    assert TableSnapshot(map_frame(path), market.DAY).listings(code) == {}


def test_without_a_usable_file_nothing_is_written(market, tmp_path):
    report, path = built(market, tmp_path, {"zerodha": b""}, {"upstox": "its file was answered with HTTP 503"})
    assert (report.rows, report.content_hash) == (0, "")
    assert report.lost == {"upstox": "its file was answered with HTTP 503", "zerodha": "its file is empty"}
    assert not path.exists()


async def kept(builder, bodies):
    await builder.begin()
    fetched = {}
    for code, body in bodies.items():
        incoming = builder.incoming(code)
        await incoming.begin()
        await incoming.take(body)
        fetched[code] = Fetched(bodies=(await incoming.kept(),), names=(code,))
    return fetched


async def test_the_worker_process_writes_the_same_file_and_leaves_nothing_behind(market, tmp_path):
    expected, _ = built(market, tmp_path)
    folder = tmp_path / "catalogue"
    folder.mkdir()
    builder = ProcessBuilder(folder)
    with trio.fail_after(PATIENCE_SECONDS):
        files = await kept(builder, market.bodies)
        report = await builder.build(Downloads(files=files, lost={}, day=market.DAY), folder / "x.arrow")
        snapshot = await builder.load(folder / "x.arrow", market.DAY)
    assert report == expected
    assert msgspec.json.decode(msgspec.json.encode(report)) == msgspec.json.decode(msgspec.json.encode(expected))
    assert snapshot.count == expected.rows
    assert [child.name for child in folder.iterdir()] == ["x.arrow"]


async def test_a_kept_file_that_is_gone_when_the_worker_reads_it_is_said(market, tmp_path):
    builder = ProcessBuilder(tmp_path)
    with trio.fail_after(PATIENCE_SECONDS):
        files = await kept(builder, market.bodies)
        (gone,) = files["upstox"].bodies
        gone.unlink()
        report = await builder.build(Downloads(files=files, lost={}, day=market.DAY), tmp_path / "x.arrow")
    assert report.lost == {"upstox": "its file is empty"}
    assert report.brokers["zerodha"].rows == len(market.names["zerodha"])


async def test_a_worker_that_fails_is_a_failed_build(market, tmp_path):
    builder = ProcessBuilder(tmp_path)
    with trio.fail_after(PATIENCE_SECONDS):
        files = await kept(builder, {"zerodha": market.bodies["zerodha"]})
        with pytest.raises(BuildFailed, match="the build ended with 1"):
            await builder.build(Downloads(files=files, lost={}, day=market.DAY), tmp_path / "missing" / "x.arrow")


def test_contracts_that_have_expired_are_left_out_and_those_of_the_day_itself_are_not(market, tmp_path):
    whole = TableSnapshot(map_frame(built(market, tmp_path)[1]), market.DAY)
    contracts = [one for one in map(whole.at, range(whole.count)) if one.identity.expiry_date is not None]
    first = min(one.identity.expiry_date for one in contracts)

    def left(day):
        path = tmp_path / f"{day}.arrow"
        build_catalogue({code: [body] for code, body in market.bodies.items()}, {}, path, market.registry, day)
        return TableSnapshot(map_frame(path), day).count

    on_the_day, after = date.fromisoformat(str(first)), date.fromisoformat(str(first)) + timedelta(days=1)
    gone = sum(one.identity.expiry_date == first for one in contracts)
    assert left(on_the_day) == whole.count
    assert left(after) == whole.count - gone < whole.count


def test_the_reports_counts_of_segments_are_the_files_rows_of_them(market, tmp_path):
    report, path = built(market, tmp_path)
    snapshot = TableSnapshot(map_frame(path), market.DAY)
    listed = Counter(snapshot.at(row).identity.segment for row in range(snapshot.count))
    assert report.segments == dict(sorted(listed.items()))
    assert list(report.segments) == sorted(report.segments)
    assert sum(report.segments.values()) == report.rows


def test_rows_that_fit_nothing_are_in_the_file_under_unknown_and_in_the_report(market, tmp_path):
    odd = b"77,1,WONDER,WONDER,0,,0,0.05,1,XX,MOON,MOON\n"
    report, path = built(market, tmp_path, {**market.bodies, "zerodha": market.bodies["zerodha"] + odd})
    zerodha = report.brokers["zerodha"]
    assert (zerodha.uncategorised, zerodha.unknown_words) == (1, {"MOON MOON XX": 1})
    snapshot = TableSnapshot(map_frame(path), market.DAY)
    shown = snapshot.instrument(snapshot.by_token("zerodha", "77"))
    assert shown.identity == Identity("unknown", "uncategorised", Shape.SECURITY, symbol="ZERODHA:MOON:WONDER")
    assert report.segments["uncategorised"] == 1


def test_the_worker_is_bounded_and_the_first_to_go_when_memory_runs_out():
    program = (
        "import resource, onebroker.actors.catalogue.build as build\n"
        "build._bound_memory()\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0], open('/proc/self/oom_score_adj').read().strip())\n"
        "try: bytearray(build.MOST_MEMORY_BYTES)\n"
        "except MemoryError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(MOST_MEMORY_BYTES), "1000", "refused"]
