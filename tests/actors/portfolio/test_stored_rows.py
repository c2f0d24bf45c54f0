"""Slices to and from the store's hashes."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.sessions.stored_rows import changes, stored_slice, with_known_objects
from onebroker.actors.store.interface import Delete, HashSet
from onebroker.brokers.records import FundsRow, FundsSegment


def apply(fields: dict[str, bytes], ops: tuple[object, ...]) -> dict[str, bytes]:
    """What a store does with the writes of one hash."""
    for op in ops:
        if isinstance(op, Delete):
            fields = {}
        if isinstance(op, HashSet):
            fields = {name: value for name, value in fields.items() if name not in op.remove} | dict(op.values)
    return fields


def test_every_kind_of_slice_comes_back_as_it_was_written(world: SimpleNamespace) -> None:
    funds = FundsRow(available_balance=1.5, segments={"equity": FundsSegment(span_margin=2.0)}, pools={"equity": 3.25})
    for held in (
        world.slice_of("a", "orders", world.order("1", price=100.05), world.order("2", tag="x")),
        world.slice_of("a", "trades", world.trade("1"), world.trade("1", order_id="2")),
        world.slice_of("a", "positions", world.position("k"), world.position("k", view="day")),
        world.slice_of("a", "holdings", world.holding("IN1"), world.holding(None)),
        world.slice_of("a", "funds", funds),
        world.slice_of("a", "orders"),
        world.slice_of("a", "orders", error="Invalid token: log in"),
    ):
        assert stored_slice("a", held.resource, apply({}, changes(None, held))) == held


def test_only_changed_rows_are_written_and_vanished_ones_removed(world: SimpleNamespace) -> None:
    before = world.slice_of("a", "orders", world.order("1"), world.order("2"), world.order("3"), age=5)
    after = world.slice_of("a", "orders", world.order("1"), world.order("2", status="COMPLETE"))
    (written,) = changes(before, after)
    assert written.key == "broker:rows:a:orders"
    assert set(written.values) == {"2", ":received_at", ":status"}
    assert written.remove == ("3",)


def test_an_unchanged_read_writes_time_and_status_only(world: SimpleNamespace) -> None:
    before = world.slice_of("a", "orders", world.order("1"), age=5)
    after = world.slice_of("a", "orders", world.order("1"))
    (written,) = changes(before, after)
    assert set(written.values) == {":received_at", ":status"}
    assert written.values[":received_at"] == repr(world.NOW).encode()


def test_a_hash_that_cannot_be_read_whole_is_not_served_in_part(world: SimpleNamespace) -> None:
    fields = apply({}, changes(None, world.slice_of("a", "orders", world.order("1"), world.order("2"))))
    assert stored_slice("a", "orders", fields | {"2": b'{"order_id":2}'}) is None
    assert stored_slice("a", "orders", fields | {":received_at": b"soon"}) is None
    assert stored_slice("a", "orders", {}) is None


@given(
    sequence=st.lists(
        st.one_of(
            st.none(),
            st.lists(st.tuples(st.sampled_from("1234"), st.integers(0, 3)), max_size=5),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_the_stored_hash_follows_any_sequence_of_reads(world: SimpleNamespace, sequence: list[object]) -> None:
    fields: dict[str, bytes] = {}
    before = None
    for step, shown in enumerate(sequence):
        if shown is None:
            after = world.slice_of("a", "trades", age=-step, error="refused")
        else:
            rows = [world.trade(name, quantity=quantity) for name, quantity in shown]
            after = world.slice_of("a", "trades", *rows, age=-step)
        fields = apply(fields, changes(before, after))
        held = stored_slice("a", "trades", fields)
        assert held is not None
        assert (held.received_at, held.error) == (after.received_at, after.error)
        assert sorted(map(repr, held.rows or ())) == sorted(map(repr, after.rows or ()))
        before = after


few = st.lists(st.tuples(st.sampled_from("1234"), st.integers(0, 2)), max_size=5)


@given(resource=st.sampled_from(["orders", "trades", "positions", "holdings"]), before=few, after=few)
def test_rows_that_stayed_equal_are_the_objects_from_before(
    world: SimpleNamespace, resource: str, before: list[tuple], after: list[tuple]
) -> None:
    make = {
        "orders": lambda name, figure: world.order(name, quantity=figure),
        "trades": lambda name, figure: world.trade(name, quantity=figure),
        "positions": lambda name, figure: world.position(name, quantity=figure),
        "holdings": lambda name, figure: world.holding(name, settled_quantity=figure),
    }[resource]
    held, read = tuple(make(*one) for one in before), tuple(make(*one) for one in after)
    rows = with_known_objects(held, read)
    assert rows == read
    if held == read:
        assert rows is held
    at_place = list(zip(rows, held, strict=False))
    assert all(row is known for row, known in at_place if row == known)
    if len(held) != len(read):
        assert all(any(row is known for known in held) for row in rows if row in held)


def test_funds_that_stayed_equal_are_the_object_from_before() -> None:
    held, equal, other = (FundsRow(available_balance=cash) for cash in (1.5, 1.5, 2.5))
    assert with_known_objects(held, equal) is held
    assert with_known_objects(held, other) is other
    assert with_known_objects(None, other) is other
