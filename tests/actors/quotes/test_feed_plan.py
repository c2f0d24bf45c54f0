"""Which broker's feed carries which instrument: limits, coverage, and how little moves."""

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from onebroker.actors.quotes.feed_plan import COPIES, Feeder, Standing, plan
from onebroker.actors.quotes.wanted_instruments import Need

CODES = ("zerodha", "upstox", "dhan", "shoonya")
INSTRUMENTS = [f"i{number}" for number in range(12)]


def feeders(*rooms, **standings):
    """Brokers in priority order, live unless told otherwise."""
    return {
        code: Feeder(standing=standings.get(code, Standing.LIVE), room=room)
        for code, room in zip(CODES, rooms, strict=False)
    }


def need(*names, of=Need.ASKED):
    return dict.fromkeys(names, of)


def everybody(one, code):
    return True


def by_table(table):
    return lambda one, code: code in table.get(one, ())


def copies(made, among):
    return Counter(one for code in among for one in made[code])


def sets(**carried):
    return {code: frozenset(carried.get(code, "").split()) for code in CODES if code in carried}


def test_an_instrument_is_carried_by_the_first_two_brokers_that_list_it():
    made = plan(need("a", "b"), feeders(9, 9, 9), by_table({"a": CODES, "b": ("dhan",)}), {})
    assert made == sets(zerodha="a", upstox="a", dhan="b")


def test_second_feeds_take_only_the_room_that_first_ones_leave():
    made = plan(need("a", "b", "c"), feeders(2, 2), everybody, {})
    assert made == sets(zerodha="a b", upstox="c a")


def test_what_is_carried_stays_when_a_better_broker_has_room_again():
    before = sets(zerodha="", upstox="a", dhan="a")
    assert plan(need("a"), feeders(9, 9, 9), everybody, before) == before


def test_a_broker_that_dropped_keeps_its_list_and_what_it_alone_carried_goes_to_another_at_once():
    before = sets(zerodha="a b", upstox="a", dhan="")
    made = plan(need("a", "b"), feeders(9, 9, 9, zerodha=Standing.WAITING), everybody, before)
    assert made == sets(zerodha="a b", upstox="a b", dhan="")


def test_a_broker_that_stays_away_is_tried_with_one_instrument_and_the_rest_is_doubled_elsewhere():
    before = sets(zerodha="a b", upstox="a b", dhan="")
    made = plan(need("a", "b"), feeders(9, 9, 9, zerodha=Standing.LOST), everybody, before)
    assert (len(made["zerodha"]), made["upstox"], made["dhan"]) == (1, {"a", "b"}, {"a", "b"})
    assert plan(need("a", "b"), feeders(9, 9, 9, zerodha=Standing.LOST), everybody, made) == made


def test_a_broker_without_a_login_carries_nothing():
    made = plan(need("a"), feeders(9, 9, zerodha=Standing.OUT), everybody, sets(zerodha="a", upstox=""))
    assert made == sets(zerodha="", upstox="a")


def test_what_has_no_feed_takes_the_place_of_a_second_one():
    before = sets(zerodha="a b", upstox="a b")
    only = by_table({"a": CODES, "b": CODES, "c": ("zerodha",)})
    made = plan({**need("c"), **need("a", "b")}, feeders(2, 2), only, before)
    assert made == sets(zerodha="a c", upstox="a b")


def test_where_room_is_short_the_more_needed_has_it_and_equals_never_displace_each_other():
    before = sets(zerodha="a b")
    assert plan({**need("x", of=Need.OPEN), **need("a", "b")}, feeders(2), everybody, before) == sets(zerodha="a x")
    assert plan(need("x", "a", "b"), feeders(2), everybody, before) == before


def test_what_gave_way_at_one_broker_goes_to_another():
    before = sets(zerodha="a", upstox="")
    only = by_table({"a": CODES, "x": ("zerodha",)})
    made = plan({**need("x", of=Need.HELD), **need("a")}, feeders(1, 1), only, before)
    assert made == sets(zerodha="x", upstox="a")


wanted_lists = st.lists(
    st.tuples(st.sampled_from(INSTRUMENTS), st.sampled_from(Need)), unique_by=lambda one: one[0]
).map(lambda pairs: dict(sorted(pairs, key=lambda pair: pair[1])))
listings = st.dictionaries(st.sampled_from(INSTRUMENTS), st.sets(st.sampled_from(CODES)))
standings = st.lists(st.sampled_from(Standing), min_size=4, max_size=4)
rooms = st.lists(st.integers(0, 8), min_size=4, max_size=4)


def all_feeders(rooms, standings):
    return {
        code: Feeder(standing=standing, room=room) for code, room, standing in zip(CODES, rooms, standings, strict=True)
    }


@given(first=wanted_lists, second=wanted_lists, listed=listings, rooms=rooms, before=standings, after=standings)
@example(  # what one alone can carry came last, after others had taken its places that had a second broker
    first={},
    second=dict.fromkeys(("i0", "i3", "i4"), Need.OPEN),
    listed={"i0": {"dhan"}, "i3": {"dhan", "shoonya"}, "i4": {"dhan", "upstox", "zerodha"}},
    rooms=[0, 0, 2, 1],
    before=[Standing.LIVE] * 4,
    after=[Standing.LIVE] * 4,
)
@example(  # both of its brokers wait, and a third took it: the plan after that gave one of them up, though nothing had changed
    first={"i0": Need.OPEN},
    second={"i0": Need.OPEN},
    listed={"i0": {"zerodha", "dhan", "shoonya"}},
    rooms=[1, 0, 1, 1],
    before=[Standing.WAITING, Standing.LIVE, Standing.LIVE, Standing.LIVE],
    after=[Standing.LIVE, Standing.LIVE, Standing.WAITING, Standing.WAITING],
)
def test_every_plan_keeps_the_limits_and_covers_what_it_can(first, second, listed, rooms, before, after):
    lists = by_table(listed)
    made = plan(first, all_feeders(rooms, before), lists, {})
    for wanted, standing in ((first, before), (second, after)):
        brokers = all_feeders(rooms, standing)
        made = plan(wanted, brokers, lists, made)
        assert set(made) == set(CODES)
        live = [code for code in CODES if brokers[code].standing is Standing.LIVE]
        covered = copies(made, live)
        for code, carried in made.items():
            assert len(carried) <= brokers[code].room
            assert carried <= wanted.keys()
            assert all(lists(one, code) for one in carried)
        kept = [code for code in CODES if brokers[code].standing in (Standing.LIVE, Standing.WAITING)]
        assert max(copies(made, kept).values(), default=0) <= COPIES
        for one in wanted:
            full = [code for code in live if lists(one, code)]
            if not covered[one]:  # then nobody has a place that it could take
                for code in full:
                    assert len(made[code]) == brokers[code].room
                    assert all(covered[other] == 1 and wanted[other] <= wanted[one] for other in made[code])
            elif (
                covered[one] + copies(made, [c for c in CODES if brokers[c].standing is Standing.WAITING])[one] < COPIES
            ):
                assert all(one in made[code] or len(made[code]) == brokers[code].room for code in full)
        assert plan(wanted, brokers, lists, made) == made, "a plan that nothing changed stays"


@given(wanted=wanted_lists, listed=listings, lost=st.sampled_from(CODES), waits=st.booleans())
def test_a_brokers_loss_moves_only_what_it_carried(wanted, listed, lost, waits):
    """With room for everything at each of the others."""
    lists, brokers = by_table(listed), feeders(12, 12, 12, 12)
    before = plan(wanted, brokers, lists, {})
    standing = Standing.WAITING if waits else Standing.LOST
    after = plan(wanted, feeders(12, 12, 12, 12, **{lost: standing}), lists, before)
    for code in CODES:
        if code != lost:
            assert before[code] <= after[code], "nothing leaves a broker that lives"
            assert after[code] - before[code] <= before[lost], "nothing comes that the lost one did not carry"
    back = plan(wanted, brokers, lists, after)
    for one in wanted.keys() - before[lost]:
        assert {code for code in CODES if one in back[code]} == {code for code in CODES if one in before[code]}
