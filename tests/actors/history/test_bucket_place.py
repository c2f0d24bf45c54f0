"""A bucket as the place of archived ticks, at a real object store: rights, keys, faults, certificates, and files of many pieces."""

import os
from datetime import date
from uuid import uuid4

import attrs
import polars as pl
import pytest
import trio

from onebroker.actors.history import bucket_place
from onebroker.actors.history.archive_place import NOTE_NAME, PlaceAway
from onebroker.actors.history.bucket_place import BucketPlace
from onebroker.actors.history.interface import HistoryError
from onebroker.config.sections import TickPlace
from tests.support.certificates import signed_server
from tests.support.held_port import held_port
from tests.support.object_server import BUCKET, SECRET
from tests.support.patience import PATIENCE_SECONDS
from tests.support.tls_proxy import tls_proxy

DAY = date(2026, 11, 23)


@pytest.fixture
def opened(object_server, tmp_path):
    """Return a place in a folder of its own, opened with one of the keys."""
    folder = f"ticks/{uuid4()}"

    def opened(key="writer", secret=SECRET, bucket=BUCKET, **changes):
        settings = attrs.evolve(object_server.settings(key, secret), **changes)
        return BucketPlace(TickPlace(bucket=bucket, folder=folder), settings, tmp_path / "staging")

    return opened


async def publish(place, day=DAY, data=None):
    draft = await place.draft(day)
    if data is None:
        pl.DataFrame({"a": range(1000)}).write_parquet(draft, row_group_size=10)
    else:
        draft.write_bytes(data)
    await place.publish(day, draft)
    return draft.read_bytes()


async def test_a_bucket_that_takes_files_gives_them_back(opened):
    await opened().try_out()
    await opened().try_out()


@pytest.mark.parametrize(
    ("key", "secret", "bucket", "words"),
    [
        ("writer", "wrong", BUCKET, "SignatureDoesNotMatch"),
        ("nobody", SECRET, BUCKET, "InvalidAccessKeyId"),
        ("reader", SECRET, BUCKET, "AccessDenied"),
        ("stranger", SECRET, BUCKET, "AccessDenied"),
        ("writer", SECRET, "not-there", "AccessDenied"),
    ],
)
async def test_a_refusal_is_told_in_the_words_of_the_object_store(opened, key, secret, bucket, words):
    with pytest.raises(PlaceAway, match=f"^s3://{bucket}/ticks/.*: {words}") as refused:
        await opened(key, secret, bucket).try_out()
    assert "\n" not in str(refused.value)
    assert SECRET not in str(refused.value)


async def test_who_may_only_read_reads_and_cannot_write(opened):
    await publish(opened())
    assert await opened("reader").rows(DAY) == 1000
    with pytest.raises(PlaceAway, match=f"the archive of {DAY} in s3://.*: AccessDenied"):
        await publish(opened("reader"))


async def test_a_missing_file_is_none_and_no_failure(opened):
    assert await opened().rows(DAY) is None
    assert await opened().days() == {}
    with pytest.raises(PlaceAway, match=r"NoSuchKey|Not Found|not found"):
        async with opened().kept(DAY):
            pass


async def test_the_end_of_a_file_is_read_again_when_its_description_is_longer(opened, monkeypatch):
    monkeypatch.setattr(bucket_place, "END_BYTES", 100)
    await publish(opened())
    assert await opened().rows(DAY) == 1000


@pytest.mark.parametrize("data", [b"", b"PAR1", b"these bytes are no Parquet file", b"\xff\xff\xff\x7fPAR1"])
async def test_a_file_that_is_no_parquet_file_is_told(opened, data):
    await publish(opened(), data=data)
    with pytest.raises(HistoryError, match=f"the archive of {DAY} in s3://") as told:
        await opened().rows(DAY)
    assert not isinstance(told.value, PlaceAway)


async def test_a_file_of_many_pieces_comes_back_as_it_was(opened):
    data = os.urandom(2 * bucket_place.PIECE_BYTES + 12_345)
    await publish(opened(), data=data)
    assert await opened().days() == {DAY: len(data)}
    async with opened().kept(DAY) as file:
        assert file.read_bytes() == data
    assert not file.exists()


async def test_a_file_replaced_while_it_is_fetched_is_never_two_halves(opened, monkeypatch):
    monkeypatch.setattr(bucket_place, "PIECE_BYTES", 5 * 1024 * 1024)
    place = opened()
    await publish(place, data=bytes(12_000_000))
    get, replaced = bucket_place.obstore.get, []

    def replacing(store, name, **options):
        piece = get(store, name, **options)
        if not replaced:
            replaced.append(bucket_place.obstore.put(store, name, b"x" * 12_000_000))
        return piece

    monkeypatch.setattr(bucket_place.obstore, "get", replacing)
    with pytest.raises(PlaceAway, match=r"PreconditionFailed|precondition"):
        async with place.kept(DAY):
            pass
    assert replaced


async def test_a_store_that_is_away_is_told_in_a_few_words(opened):
    with held_port() as port, pytest.raises(PlaceAway, match=r"^s3://[^ ]*: Connection refused$"):
        await opened(endpoint=f"http://127.0.0.1:{port}").try_out()


async def test_a_stop_does_not_wait_for_a_store_that_hangs_and_nothing_half_written_shows(
    opened, object_server, nursery
):
    place = opened()
    await place.try_out()
    with object_server.hanging():
        with trio.move_on_after(0.2) as stopped:
            await publish(place, data=bytes(12_000_000))
        assert stopped.cancelled_caught
    with trio.fail_after(PATIENCE_SECONDS):
        assert set(await place.days()) <= {DAY}
        await publish(place)
        while await place.rows(DAY) != 1000:  # what was cut off may still arrive, whole; it is then replaced
            await publish(place)


async def test_only_a_certificate_that_the_machine_trusts_is_taken(opened, object_server, monkeypatch, tmp_path):
    port = int(object_server.endpoint.rpartition(":")[2])
    certificate, key, authority = signed_server(tmp_path)
    async with tls_proxy(port, certificate=certificate, key=key) as proxy:
        endpoint = f"https://localhost:{proxy.port}"
        with pytest.raises(PlaceAway, match="its certificate is not trusted: UnknownIssuer"):
            await opened(endpoint=endpoint).try_out()
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        place = opened(endpoint=endpoint)
        await place.try_out()
        await publish(place)
        assert await place.rows(DAY) == 1000
        assert proxy.connections > 0


async def test_without_a_key_in_the_settings_that_of_the_environment_counts(opened, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "writer")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    await opened(access_key_id=None, secret_access_key=None).try_out()


async def test_the_top_of_a_bucket_is_a_place_too(object_server, tmp_path):
    place = BucketPlace(TickPlace(bucket=BUCKET, folder=""), object_server.settings(), tmp_path)
    await place.try_out()
    day = date(2000, 1, 3)
    await publish(place, day)
    assert (await place.days()).keys() >= {day}
    assert NOTE_NAME not in map(str, await place.days())
