"""The text of the metrics: both forms can be read, and say the same."""

import trio
from prometheus_client import REGISTRY
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_plain

from onebroker.http.metrics import names
from onebroker.http.metrics.registry import SLICE_SAMPLES, Metrics

OPEN = "application/openmetrics-text; version=1.0.0"


def many():
    yield names.READS.family(((f"broker{number}", "funds", "ok"), number) for number in range(2 * SLICE_SAMPLES))
    yield names.LOSS.one(None)
    yield names.STREAM_CLIENTS.one(3)


async def test_both_forms_can_be_read_and_say_the_same():
    metrics = Metrics()
    metrics.add(many)
    plain, plain_type = await metrics.text("")
    open_text, open_type = await metrics.text(OPEN)
    assert plain_type == "text/plain; version=0.0.4; charset=utf-8"
    assert open_type.startswith("application/openmetrics-text; version=1.0.0; charset=utf-8")
    assert open_text.count(b"# EOF\n") == 1
    assert open_text.endswith(b"# EOF\n")
    ours = [
        {
            (one.name, *one.labels.values()): one.value
            for metric in read(text.decode())
            for one in metric.samples
            if "reads" in one.name
        }
        for read, text in ((read_plain, plain), (read_open, open_text))
    ]
    assert ours[0] == ours[1]
    assert len(ours[0]) == 2 * SLICE_SAMPLES


async def test_a_figure_that_is_not_known_has_a_meaning_and_no_sample():
    metrics = Metrics()
    metrics.add(many)
    lines = (await metrics.text(""))[0].decode().splitlines()
    assert [line for line in lines if "loss_rupees" in line and not line.startswith("#")] == []
    assert any(line.startswith("# HELP onebroker_loss_rupees ") for line in lines)


async def test_other_tasks_run_while_a_long_text_is_made():
    metrics, steps = Metrics(), 0
    for _ in range(4):
        metrics.add(many)

    async def work() -> None:
        nonlocal steps
        while True:
            await trio.lowlevel.checkpoint()
            steps += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        await trio.lowlevel.checkpoint()
        before = steps
        await metrics.text("")
        assert steps > before
        nursery.cancel_scope.cancel()


async def test_two_services_of_one_process_do_not_mix():
    one, other = Metrics(), Metrics()
    one.add(many)
    assert b"onebroker_stream_clients" not in (await other.text(""))[0]
    assert "onebroker_stream_clients" not in {metric.name for metric in REGISTRY.collect()}


async def test_the_process_tells_its_memory_files_and_versions():
    text = (await Metrics().text(""))[0].decode()
    for name in (
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_cpu_seconds_total",
        "onebroker_build_info{",
    ):
        assert f"\n{name}" in text or text.startswith(name)
