"""Work in processes, stopped at any moment. What else it does is tested where it is used."""

import subprocess
import sys
from pathlib import Path

LARGE = """
from postedit.core.processes import map_in_processes

def build(number):
    return lambda item: bytes(30_000_000)

if __name__ == "__main__":
    for taken in range(4):
        results = map_in_processes(build, range(100), 2)
        for _ in range(taken + 1):
            next(results)
        results.close()
"""


def test_processes_stopped_while_sending_end(tmp_path: Path) -> None:
    script = tmp_path / "large.py"
    script.write_text(LARGE)
    subprocess.run([sys.executable, script], check=True, timeout=100)
