"""Compression of published bodies: what each level of gzip leaves of the documents and of the API's pages, and its processor time.

The documents are those of `bench.bench_documents`, with 2 and 10 brokers. A compression runs in a thread that holds no lock of the interpreter,
so its time is not the loop's.

    python -m bench.bench_packing
"""

import gzip
import json
import os
import platform
import statistics
import sys
import time

import msgspec

from bench.bench_documents import BROKERS, MAKE, NOW, StocksSnapshot, assembler_of, built
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.keys import RESOURCES
from onebroker.http.docs_page.page import docs_page
from onebroker.http.document.asyncapi import asyncapi_document
from onebroker.http.document.openapi import openapi_document
from onebroker.http.packing import LEVEL
from onebroker.http.route_table import ROUTES

LEVELS = (1, 3, 4, 5, 6, 9)
ROUNDS = 9


def bodies() -> dict[str, bytes]:
    """Return the bodies by their names."""
    catalogue = Published(CatalogueState(latest=StocksSnapshot(), published_today=True, reason=""))
    found = {}
    for brokers in BROKERS:
        for resource in RESOURCES:
            slices = {
                f"broker{number}": Slice(
                    broker=f"broker{number}", resource=resource, rows=MAKE[resource](), received_at=NOW - number / 10
                )
                for number in range(brokers)
            }
            found[f"{resource} of {brokers}"] = built(assembler_of(resource, catalogue), slices)
    openapi = openapi_document(ROUTES)
    found |= {"openapi.json": msgspec.json.encode(openapi), "docs": docs_page(openapi)}
    return {**found, "asyncapi.json": msgspec.json.encode(asyncapi_document())}


def milliseconds(body: bytes, level: int) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        gzip.compress(body, level, mtime=0)
        took.append(time.thread_time() - began)
    return statistics.median(took) * 1000


def main() -> None:
    rows = [
        {
            "body": name,
            "level": level,
            "bytes": len(body),
            "times_shorter": round(len(body) / packed, 1),
            "ms": round(ms, 2),
        }
        for name, body in bodies().items()
        for level in LEVELS
        for packed, ms in [(len(gzip.compress(body, level, mtime=0)), milliseconds(body, level))]
    ]
    for row in rows:
        mark = "  <- the service's" if row["level"] == LEVEL else ""
        print(f"{row['body']:>18}{row['level']:>4}{row['bytes']:>10}{row['times_shorter']:>8}{row['ms']:>9} ms{mark}")
    machine = {"python": sys.version.split()[0], "system": platform.platform(), "load": os.getloadavg()}
    print(
        json.dumps({"benchmark": "packing", "units": "ms of processor time, median", "machine": machine, "rows": rows})
    )


if __name__ == "__main__":
    main()
