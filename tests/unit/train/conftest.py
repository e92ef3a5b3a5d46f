"""Lets the tests here, and the processes they start, share `tiny_run`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
