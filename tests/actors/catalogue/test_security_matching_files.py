"""Files in another order, with more columns, cut off or spoilt: each costs at most the rows concerned, and these are counted.

The files are the simulator's, which writes all ten brokers' formats.
"""

import csv
import functools
import gzip
import io
import zipfile
from datetime import date
from decimal import Decimal
from random import Random
from types import SimpleNamespace

import msgspec
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onebroker.actors.catalogue.merge import merge
from onebroker.brokers.fyers.instruments import FILES as FYERS_FILES
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BadAnswer
from onebroker.brokers.simulator.dialects.angelone import naming as angelone
from onebroker.brokers.simulator.dialects.dhan import naming as dhan
from onebroker.brokers.simulator.dialects.fivepaisa import naming as fivepaisa
from onebroker.brokers.simulator.dialects.fyers import naming as fyers
from onebroker.brokers.simulator.dialects.groww import naming as groww
from onebroker.brokers.simulator.dialects.icicidirect import naming as icicidirect
from onebroker.brokers.simulator.dialects.kotakneo import naming as kotakneo
from onebroker.brokers.simulator.dialects.shoonya import naming as shoonya
from onebroker.brokers.simulator.dialects.upstox import naming as upstox
from onebroker.brokers.simulator.dialects.zerodha import naming as zerodha
from onebroker.brokers.simulator.world.model import Market
from onebroker.brokers.simulator.world.universe import build_universe

pytestmark = pytest.mark.day

DAY = date(2026, 11, 23)
CODES = ("zerodha", "upstox", "dhan", "angelone", "fyers", "kotakneo", "fivepaisa", "groww", "icicidirect", "shoonya")
CSVS = ("zerodha", "dhan", "kotakneo", "fivepaisa", "groww", "icicidirect", "shoonya")
"""With a header; Fyers' have none."""
OPEN_FILES = tuple(code for code in CODES if code not in ("icicidirect", "shoonya"))
"""A zip that breaks off has no directory and is no zip."""
REGISTRY = build_registry()


@functools.cache
def contracts():
    return build_universe(160, 1, DAY).contracts


def _market(contract):
    price = contract.base_price
    figures = ("last_quantity", "volume", "buy_quantity", "sell_quantity", "oi", "oi_day_high", "oi_day_low")
    return Market(
        tick_size=contract.tick_size, last_price=price, last_trade_time=0.0, exchange_time=0.0, average_price=price, open=price, high=price, low=price,
        previous_close=price, upper_circuit=price * Decimal("1.2"), lower_circuit=price * Decimal("0.8"), buy=(), sell=(),
        **dict.fromkeys(figures, 0),
    )  # fmt: skip


def _names(dialect):
    return [name for name in map(dialect.name_of, contracts()) if name is not None]


def _fyers():
    names = _names(fyers)
    parts = [[name for name in names if fyers.master_of(name) == file] for file in FYERS_FILES]
    return [
        *(fyers.csv_master(part, DAY) for part in parts),
        *(fyers.json_master(part, DAY) for part in parts),
        fyers.index_names(names),
    ]


def _icicidirect():
    account = SimpleNamespace(contracts=contracts)
    return [icicidirect.security_master(icicidirect.IciciNames(account).by_id.values())]


WRITTEN = {
    "zerodha": lambda: [zerodha.instrument_file(_names(zerodha))],
    "upstox": lambda: [gzip.decompress(upstox.instrument_file(_names(upstox)))],
    "dhan": lambda: [
        dhan.compact_file(_names(dhan)),
        dhan.detailed_file([(name, _market(name.contract)) for name in _names(dhan)]),
    ],
    "angelone": lambda: [angelone.instrument_file(_names(angelone))],
    "fyers": _fyers,
    "kotakneo": lambda: [kotakneo.scrip_file(segment, _names(kotakneo)) for segment in kotakneo.SEGMENTS],
    "fivepaisa": lambda: [fivepaisa.instrument_file(_names(fivepaisa))],
    "groww": lambda: [groww.instrument_file(_names(groww))],
    "icicidirect": _icicidirect,
    "shoonya": lambda: [
        shoonya.archive(file, [name for name in _names(shoonya) if name.exchange == file]) for file in shoonya.FILES
    ],
}


@functools.cache
def files_of(code):
    return WRITTEN[code]()


def read(code, bodies):
    listed_first = [b""] if code == "kotakneo" else []  # the list of its files, which names no instrument
    return REGISTRY[code].instruments.read_files([*listed_first, *bodies])


@functools.cache
def whole(code):
    """What is read of the undamaged files."""
    return read(code, files_of(code))


def by_token(frame):
    columns = [name for name in frame.columns if name not in ("unread", "absent")]
    return {row["broker_token"]: row for row in frame.select(columns).iter_rows(named=True)}


@functools.cache
def rows_of_whole(code):
    return by_token(whole(code))


def rewritten(code, change):
    """The broker's files, every table in them changed; `change` gets a body and gives one."""

    def of_body(body):
        if not body.startswith(b"PK"):
            return change(body)
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(body)) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                new.writestr(name, change(old.read(name)))
        return out.getvalue()

    return [of_body(body) for body in files_of(code)]


def reordered(body, random, more=()):
    """The same table with its columns in another order, and with further ones."""
    if body.startswith(b"["):
        rows = msgspec.json.decode(body)
        turned = [
            dict(random.sample([*row.items(), *((name, "more") for name in more)], len(row) + len(more)))
            for row in rows
        ]
        return msgspec.json.encode(turned)
    header, *rows = list(csv.reader(io.StringIO(body.decode()), skipinitialspace=True))
    order = random.sample(range(len(header) + len(more)), len(header) + len(more))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(
        [
            [*row, *([""] * (len(header) - len(row))), *(more if row is header else ["more"] * len(more))][at]
            for at in order
        ]
        for row in (header, *rows)
    )
    return out.getvalue().encode()


@pytest.mark.parametrize("code", [*CSVS, "upstox", "angelone"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), more=st.lists(st.sampled_from(["Extra", "x y", "NEW"]), unique=True))
def test_columns_may_stand_in_any_order_with_others_among_them(code, seed, more):
    random = Random(seed)
    frame = read(code, rewritten(code, lambda body: reordered(body, random, more)))
    assert by_token(frame) == rows_of_whole(code)
    assert frame["unread"][0] == whole(code)["unread"][0]


@pytest.mark.parametrize("code", CODES)
def test_lines_may_end_in_cr_lf_and_a_mark_may_stand_before_them(code):
    def change(body):
        marked = body if code == "fyers" else b"\xef\xbb\xbf" + body
        return marked if body.startswith((b"[", b"{")) else marked.replace(b"\n", b"\r\n")

    frame = read(code, rewritten(code, change))
    assert by_token(frame) == rows_of_whole(code)


GARBAGE = st.one_of(
    st.sampled_from(
        [
            b'"',
            b",,,,,,,,,",
            b"\x00\xff\xfe",
            b'1,"2',
            b"NaN",
            b"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v",
            b"<html>",
        ]
    ),
    st.binary(min_size=1, max_size=30).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b"") or b"?"),
)


@pytest.mark.parametrize("code", [*CSVS, "fyers"])
@settings(max_examples=25, deadline=None)
@given(garbage=GARBAGE, seed=st.integers(0, 10_000))
@example(garbage=b'""\x00', seed=0)
def test_a_line_of_garbage_costs_nothing_but_itself_and_is_counted(code, garbage, seed):
    def change(body):
        if body.startswith(b"{") or not body.strip():
            return body
        lines = body.splitlines(keepends=True)
        lines.insert(Random(seed).randint(0 if code == "fyers" else 1, len(lines)), garbage + b"\n")
        return b"".join(lines)

    frame = read(code, rewritten(code, change))
    read_rows = by_token(frame)
    strange = set(read_rows) - set(rows_of_whole(code))
    assert {token: row for token, row in read_rows.items() if token not in strange} == rows_of_whole(code)
    tables = sum(body.count(b"\n") > 0 for body in files_of(code)) + 6
    assert len(strange) <= tables
    assert frame["unread"][0] >= whole(code)["unread"][0]


@pytest.mark.parametrize("code", OPEN_FILES)
@settings(max_examples=40, deadline=None)
@given(part=st.floats(0, 1), place=st.integers(0, 30))
def test_a_file_that_breaks_off_costs_the_rows_behind_the_break(code, part, place):
    bodies = list(files_of(code))
    place %= len(bodies)
    whole = bodies[place]
    bodies[place] = whole[: int(part * len(whole))]
    try:
        frame = read(code, bodies)
    except BadAnswer:
        # Without its header a table is none; a JSON master of Fyers says what no row does by itself.
        came = whole[: int(part * len(whole))]
        assert not whole or code == "fyers" or came.count(b"}" if whole.startswith(b"[") else b"\n") < 2
        return
    rows, all_rows = by_token(frame), rows_of_whole(code)
    if code == "dhan" and place == 1:
        assert set(rows) == set(all_rows), "the detailed file only adds to rows"
        return
    if code == "fyers":
        return
    wrong = [token for token, row in rows.items() if row != all_rows.get(token)]
    assert len(wrong) <= 1, "the one that is cut in two"
    assert (
        len(rows)
        >= len(all_rows) - whole[int(part * len(whole)) :].count(b"}" if whole.startswith(b"[") else b"\n") - 1
    )


@pytest.mark.parametrize("code", OPEN_FILES)
def test_a_row_cut_in_two_is_counted(code):
    bodies = list(files_of(code))
    bodies[0] = bodies[0][: bodies[0].rstrip(b"\r\n]}").rfind(b"1")]
    frame = read(code, bodies)
    assert frame["unread"][0] + frame.filter(segment="uncategorised").height > 0


def test_all_ten_files_make_one_catalogue_without_a_doubt():
    merged, reports = merge({code: whole(code) for code in CODES})
    listed = {contract.instrument_id for contract in contracts()}
    assert set(merged["instrument_id"]) <= listed
    for code, report in reports.items():
        assert (report.refused, report.ambiguous, report.contradicted, report.uncategorised) == (0, 0, 0, 0), code
        assert report.rows == whole(code).height
    assert max(len(listings) for listings in merged["listings"]) == len(CODES)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), present=st.sets(st.sampled_from(CODES), min_size=1))
def test_ids_do_not_depend_on_the_order_of_rows_nor_on_which_brokers_are_there(seed, present):
    frames = {code: whole(code).sample(fraction=1.0, shuffle=True, seed=seed) for code in CODES if code in present}
    merged, _ = merge(frames)
    assert set(merged["instrument_id"]) <= {contract.instrument_id for contract in contracts()}
    straight, _ = merge({code: whole(code) for code in CODES if code in present})
    assert merged.equals(straight)
    assert isinstance(merged, pl.DataFrame)
