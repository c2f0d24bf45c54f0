"""What a process has put aside for the collector is found again at its end."""

import subprocess
import sys

import pytest

from tests.support.patience import PATIENCE_SECONDS

ENDS = {
    "imports": "with imports_put_aside():\n    import duckdb\nduckdb.connect().execute('SELECT 1')",
    "everything": "import duckdb\nduckdb.connect().execute('SELECT 1')\nassert settle_collector() > 0",
}


@pytest.mark.parametrize("put_aside", ENDS.values(), ids=ENDS)
def test_a_process_that_used_duckdb_ends_in_order(put_aside):
    """Left aside, DuckDB 1.5 was freed when the interpreter had ended: Python 3.14 aborted the process (signal 6)."""
    program = f"from onebroker.http.listener.gc_pauses import imports_put_aside, settle_collector\n{put_aside}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
