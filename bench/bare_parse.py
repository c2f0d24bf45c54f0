"""A bare parse of the brokers' instrument files into polars frames: the least that any build from these files must spend.

    python -m bench.bare_parse FOLDER

Unpacks and parses every file in its own format and drops the frame. Prints one line of JSON: seconds of each broker, seconds of all, bytes read, peak
memory of the process. Reading the files is timed; starting the interpreter is not. CSV values stay texts. JSON values are typed by all their rows,
because some fields are not in every row. Fyers' JSON masters are objects by ticker, which polars cannot read as rows: msgspec decodes them, and
polars makes the frame from the rows.
"""

import argparse
import gzip
import io
import json
import resource
import time
import zipfile
from pathlib import Path

import msgspec
import polars as pl

from bench.instrument_files import files_in

_GZIP, _ZIP = b"\x1f\x8b", b"PK"


def parse(body: bytes) -> int:
    """Parse one file of any of the formats. Return the number of its rows."""
    if body.startswith(_GZIP):
        return parse(gzip.decompress(body))
    if body.startswith(_ZIP):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return sum(parse(archive.read(name)) for name in archive.namelist())
    if not body.strip():
        return 0
    if body.startswith(b"["):
        return pl.read_json(body, infer_schema_length=None).height
    if body.startswith(b"{"):
        rows = msgspec.json.decode(body)
        return (
            pl.from_dicts(list(rows.values()), infer_schema_length=None).height
            if isinstance(next(iter(rows.values()), None), dict)
            else len(rows)
        )
    return pl.read_csv(body, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy").height


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    took: dict[str, float] = {}
    size = 0
    for code, paths in files_in(parser.parse_args().folder).items():
        began = time.perf_counter()
        for path in paths:
            body = path.read_bytes()
            size += len(body)
            parse(body)
        took[code] = round(time.perf_counter() - began, 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": round(sum(took.values()), 3), "brokers": took, "bytes": size, "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()
