"""What `/api/health` and `/metrics` show of the data directory's disk, and of what history does not write because of it."""

from onebroker.actors.history.disk_room import MEGABYTE, Room
from onebroker.http.metrics import Metric


def disk_health(room: Room) -> dict[str, object]:
    """Return the disk figures in megabytes. `free_mb` is null if it cannot be read; `trouble` says why candles and
    ticks are not written."""
    return {
        "free_mb": None if room.free is None else room.free // MEGABYTE,
        "reserve_mb": room.reserve // MEGABYTE,
        "trouble": room.refusal,
    }


def disk_metrics(room: Room, dropped_ticks: int) -> list[Metric]:
    """Return the free space, whether history is written, and how many ticks should have been recorded and were not."""
    return [
        Metric(
            name="onebroker_disk_free_bytes",
            kind="gauge",
            doc="Free on the disk of the data directory.",
            samples=() if room.free is None else (({}, float(room.free)),),
        ),
        Metric(
            name="onebroker_history_written",
            kind="gauge",
            doc="Whether candles and ticks are written; 0 while the disk has less than history.disk_reserve_mb left.",
            samples=(({}, float(room.enough)),),
        ),
        Metric(
            name="onebroker_ticks_dropped_total",
            kind="counter",
            doc="Ticks that were to be recorded and were not.",
            samples=(({}, float(dropped_ticks)),),
        ),
    ]
