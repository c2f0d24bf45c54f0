"""What `/api/health` shows of the data directory's disk, and of what history does not write because of it."""

from onebroker.actors.history.disk_room import MEGABYTE, Room


def disk_health(room: Room) -> dict[str, object]:
    """Return the disk figures in megabytes. `free_mb` is null if it cannot be read; `trouble` says why candles and
    ticks are not written."""
    return {
        "free_mb": None if room.free is None else room.free // MEGABYTE,
        "reserve_mb": room.reserve // MEGABYTE,
        "trouble": room.refusal,
    }
