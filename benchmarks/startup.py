"""Measure the time until the command line shows something, and until it begins to load a model.

    python benchmarks/startup.py [--repeats N]

Figures are medians of the wall-clock seconds of new processes, which take turns. The last row is what `postedit edit`
does before it loads a model; `import torch`, above it, is the part that no order of imports can save. Then follow its
most expensive imports, measured by `python -X importtime`; each includes the modules that it imports.
"""

import argparse
import re
import statistics
import subprocess
import sys
import time

MAIN = "from postedit.cli.main import main; main()"
COMMANDS = {
    "python": ["-c", ""],
    "postedit --help": ["-c", MAIN, "--help"],
    "postedit edit --help": ["-c", MAIN, "edit", "--help"],
    "import torch": ["-c", "import torch"],
    "postedit edit NONE": ["-c", MAIN, "edit", "./none", "--src", __file__, "--mt", __file__],
}
SHOWN = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *command], capture_output=True, check=False)
            seconds[name].append(time.perf_counter() - start)
    print("| command | seconds |\n|---|---|")
    for name, times in seconds.items():
        print(f"| {name} | {statistics.median(times):.2f} |")
    print("\n| import | ms |\n|---|---|")
    for name, spent in dearest():
        print(f"| {name} | {spent / 1000:.0f} |")


def dearest() -> list[tuple[str, int]]:
    """Return the packages that `postedit edit` imports, without torch, and their microseconds, slowest first."""
    code = "import torch, postedit.editing.post_editor"
    command = [sys.executable, "-X", "importtime", "-c", code]
    err = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found: dict[str, int] = {}
    for spent, name in re.findall(r"import time:\s+\d+ \|\s+(\d+) \|\s+([\w.]+)", err):
        if "." not in name or name.startswith("postedit."):
            found[name] = max(int(spent), found.get(name, 0))
    return sorted(found.items(), key=lambda item: -item[1])[:SHOWN]


if __name__ == "__main__":
    main()
