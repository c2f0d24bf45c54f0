"""What brokers and strangers say reaches log and terminal as text, and files of a command are its owner's alone."""

import io
import logging
import stat
import subprocess
import sys

import pytest

from onebroker.http.commands.exit_codes import CommandFailed, run_to_exit_code
from onebroker.http.commands.printable import PrintableFormatter, printable
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ₹ text\twith a tab", "plain ₹ text\twith a tab"),
        ("a\n2026-11-23 ERROR forged", "a\\n2026-11-23 ERROR forged"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("\r\x00\x7f\x9b", "\\r\\x00\\x7f\\x9b"),
        ("\u2028\u202e\ud800", "\\u2028\\u202e\\ud800"),
    ],
)
def test_control_characters_are_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_record_is_one_line_and_a_stack_looks_like_no_record() -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(PrintableFormatter("%(levelname)s %(message)s"))
    log = logging.Logger("test")
    log.addHandler(handler)
    try:
        raise ValueError("first\nERROR forged\x1b[2J")
    except ValueError:
        log.exception("a broker said %s", "no\nERROR forged")
    lines = written.getvalue().splitlines()
    assert lines[0] == "ERROR a broker said no\\nERROR forged"
    assert len(lines) > 3
    assert all(line.startswith("    ") for line in lines[1:])
    assert "\x1b" not in written.getvalue()


def test_a_sentence_of_a_command_moves_no_cursor(capsys) -> None:
    def command() -> int:
        raise CommandFailed("the broker said \x1b[2Jnothing", 4)

    assert run_to_exit_code(command) == 4
    assert capsys.readouterr().err == "the broker said \\x1b[2Jnothing\n"


def test_what_a_command_writes_is_its_owners_alone_and_headers_are_logged_at_no_level(tmp_path) -> None:
    program = (
        "import logging\n"
        "from onebroker.http.__main__ import main\n"
        "from onebroker.http.commands import exit_codes\n"
        "exit_codes.run_to_exit_code = lambda run: open('written', 'w').close() or 0\n"
        "main(['--log-level', 'debug', 'simulator'])\n"
        "assert not any(logging.getLogger(name).isEnabledFor(logging.INFO) for name in ('hpack', 'hpack.hpack', 'h2'))\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, umask=0o022, check=True, timeout=PATIENCE_SECONDS)
    assert stat.S_IMODE((tmp_path / "written").stat().st_mode) == 0o600
