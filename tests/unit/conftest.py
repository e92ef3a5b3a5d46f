"""Lets the tests of the modules above the packages share `tiny_models`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
