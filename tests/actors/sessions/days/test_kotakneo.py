"""What is Kotak Neo's alone, through the real session: the streams open also where its config service does not answer. The contract
suite has the rest."""

from onebroker.brokers.requests import NotSent
from onebroker.brokers.simulator.host.inprocess import InProcessTransport

CODE = "kotakneo"


class WithoutConfigService(InProcessTransport):
    async def send(self, request, timeout_seconds):
        if "/5config/" in request.url:
            raise NotSent("the connection was refused")
        return await super().send(request, timeout_seconds)


async def test_what_is_watched_ticks_also_without_the_config_service(day, alone, listen, autojump_clock):
    day.open_transport = lambda: WithoutConfigService(day.simulator)
    async with day.market(), day.service():
        heard = listen(day, CODE)
        await alone.until_live()
        watched = [*(day.equity(number) for number in range(3)), day.listed("nse_equity_indices")[0]]
        await alone.watch(*watched)
        await heard.until(watched, seconds=120)
