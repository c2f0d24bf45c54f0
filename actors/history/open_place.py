"""Opens the place of archived ticks that the settings name. Nothing is connected yet, and no folder is made."""

from pathlib import Path

from onebroker.actors.history.archive_place import ArchivePlace, FolderPlace
from onebroker.actors.store.server_address import StoreRefused
from onebroker.config.sections import Settings


def open_place(staging: Path, settings: Settings) -> ArchivePlace | None:
    """Return the place; None when no ticks are archived. Files on their way to and from a bucket are in `staging`. Raises StoreRefused."""
    place = settings.history.tick_archive
    if place is None:
        return None
    if place.bucket is None:
        return FolderPlace(Path(place.folder))
    try:
        from onebroker.actors.history.bucket_place import BucketPlace
    except ImportError as error:
        raise StoreRefused(
            f"history.tick_archive in an object store needs obstore ({error}): pip install 'onebroker[s3]'"
        ) from error
    return BucketPlace(place, settings.object_store, staging)
