"""The kept lines: a text that is made from them is, byte for byte, what the library's encoder writes anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from onebroker.http.metrics.exposition import MOST_FORMS, Expositions

PLAIN = ""
OPEN = "application/openmetrics-text; version=1.0.0"
LABELS = st.text(max_size=4)
VALUES = st.floats().map(lambda value: value + 0.0)
"""Without -0.0: it is equal to 0.0, so it is no change."""
ROWS = st.dictionaries(st.tuples(LABELS, LABELS), VALUES, max_size=6)


class Some(Collector):
    def __init__(self, metrics):
        self.metrics = metrics

    def collect(self):
        return self.metrics


def families(rows):
    gauge = GaugeMetricFamily("g", "A gauge,\nof two \\ lines.", labels=("one", "two"))
    counter = CounterMetricFamily("c", "A counter.", labels=("one", "two"))
    histogram = HistogramMetricFamily("h_seconds", "A histogram.", labels=("one", "two"), unit="seconds")
    for labels, value in rows.items():
        gauge.add_metric(labels, value)
        counter.add_metric(labels, value)
        histogram.add_metric(labels, [("0.5", 1.0), ("+Inf", value)], value)
    return gauge, counter, histogram


def text(form, metrics):
    return b"".join(form.text(metric)[0] for metric in metrics) + form.end


@pytest.mark.parametrize("accept", [PLAIN, OPEN])
@given(scrapes=st.lists(ROWS, min_size=1, max_size=5))
def test_each_scrape_is_what_the_encoder_writes_anew(accept, scrapes):
    form, (encode, _) = Expositions().form(accept), choose_encoder(accept)
    for rows in scrapes:
        assert text(form, families(rows)) == encode(Some(families(rows)))


def test_only_samples_that_have_changed_are_encoded():
    form = Expositions().form(PLAIN)
    assert [form.text(metric)[1] for metric in families({("a", "b"): 1.0, ("c", "d"): 2.0})] == [2, 2, 8]
    assert [form.text(metric)[1] for metric in families({("a", "b"): 1.0, ("c", "d"): 3.0})] == [1, 1, 3]
    assert [form.text(metric)[1] for metric in families({("a", "b"): 1.0, ("c", "d"): 3.0})] == [0, 0, 0]


@pytest.mark.parametrize("accept", [PLAIN, OPEN])
def test_samples_that_the_encoder_moves_or_leaves_out_are_written_anew(accept):
    form, (encode, _) = Expositions().form(accept), choose_encoder(accept)
    for value in (1.0, 2.0):
        made = CounterMetricFamily("c", "A counter with its time of making.", labels=("one",))
        made.add_metric(("a",), value, created=value)
        made.add_metric(("b",), value, created=value)
        assert text(form, [made]) == encode(Some([made]))


def test_few_forms_are_kept_and_each_is_given_again():
    forms = Expositions()
    plain = forms.form(PLAIN)
    assert forms.form("text/plain") is plain
    others = [forms.form(f"application/openmetrics-text; version=1.0.{number}") for number in range(MOST_FORMS)]
    assert forms.form("application/openmetrics-text; version=1.0.1") is others[1]
    assert forms.form(PLAIN) is not plain
