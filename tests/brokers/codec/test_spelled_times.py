"""Times with a spelled month."""

from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.codec.spelled_times import spelled_moment
from onebroker.config.clock import IST
from tests.support.every_case import every_case


@given(st.datetimes().filter(lambda moment: moment.year >= 1000))
def test_every_written_second_reads_back(moment):
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[moment.month - 1]
    written = f"{moment.day:02d}-{month}-{moment.year:04d} {moment:%H:%M:%S}"
    expected = moment.replace(microsecond=0, tzinfo=IST)
    assert spelled_moment(written) == spelled_moment(f" {written.upper()} ") == expected
    assert spelled_moment(written.replace(":", ": ")) == expected


@every_case(
    "value",
    ["", "NA", None, 7, "20-Oct-2020", "31-Feb-2020 10:00:00", "01-Foo-2020 10:00:00", "01-Jan-0000 10:00:00",
     "01-Jan-2020 24:00:00", "01-Jan-2020 10:00:00x", "2020-10-20 13:10:59"],
)  # fmt: skip
def test_anything_else_is_no_time(value):
    assert spelled_moment(value) is None
