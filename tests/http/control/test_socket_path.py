"""The control socket of a data directory whose path is longer than an address of a socket can be."""

import stat

import pytest
import trio

from onebroker.http.control.control_socket import ControlFailed, NoService, ask_service, history_held, serve_control
from onebroker.http.control.socket_path import open_socket
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture(params=[1, 200])
def path(request, tmp_path):
    folder = tmp_path / ("x" * request.param) / "data"
    folder.mkdir(parents=True)
    return folder / "control.sock"


async def test_a_command_reaches_the_service_and_only_its_owner(path, nursery):
    with trio.fail_after(PATIENCE_SECONDS):
        await nursery.start(serve_control, path, None)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(ControlFailed):
            await ask_service(path, {"command": "nothing of the kind"})
    nursery.cancel_scope.cancel()


async def test_without_a_service_nothing_answers(path):
    for nobody in (path, path.parent / "nowhere" / "control.sock"):
        with pytest.raises(NoService, match="no service answers at"):
            await ask_service(nobody, {})
        with pytest.raises(NoService):
            async with history_held(nobody, "backup"):
                pass
        with pytest.raises(OSError, match="No such file"):
            await open_socket(nobody)
