"""The place of archived ticks that settings name."""

import sys

import pytest

from onebroker.actors.history.archive_place import FolderPlace
from onebroker.actors.history.bucket_place import BucketPlace
from onebroker.actors.history.open_place import open_place
from onebroker.actors.store.server_address import StoreRefused
from onebroker.config.settings import build_settings


def settings(place=None):
    history = {} if place is None else {"history": {"tick_archive": place}}
    return build_settings({"service": {"data_dir": "/data"}, **history}, known_brokers={})


@pytest.mark.parametrize(
    ("place", "kind"), [(None, type(None)), ("/srv/ticks", FolderPlace), ("s3://a-bucket/ticks", BucketPlace)]
)
def test_it_is_what_the_settings_name_and_nothing_is_made(tmp_path, place, kind):
    assert type(open_place(tmp_path / "incoming", settings(place))) is kind
    assert not (tmp_path / "incoming").exists()


def test_without_the_library_a_bucket_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.delitem(sys.modules, "onebroker.actors.history.bucket_place")
    with pytest.raises(StoreRefused, match=r"pip install 'onebroker\[s3\]'"):
        open_place(tmp_path, settings("s3://a-bucket/ticks"))
    assert type(open_place(tmp_path, settings("/srv/ticks"))) is FolderPlace
