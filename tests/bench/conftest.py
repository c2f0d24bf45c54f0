"""Lets tests import `bench`: a folder of commands, which no installed package holds."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))  # last: the folder http/ must not hide Python's own module
