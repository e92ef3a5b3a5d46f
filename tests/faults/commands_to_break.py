"""The commands that the tests here kill, starve and confuse; each works on small files for about a second."""

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tiny_models
from nursery import Ended, Nursery, Running
from rich.console import Console
from tests.unit.phrase.small_corpus import write_recipe

from postedit.core.checksums import CHECKSUMS, damaged_files, read_checksums
from postedit.jobs.phrase_training import train_phrases
from postedit.phrase.phrase_recipe import load_phrase_recipe

LINES = 60
WORDS = ["the", "house", "burns", "goes", "it", "tree", "old", "Haus", "das", "geht", "Baum", "."]
UNCOMPARED = {"environment.json", CHECKSUMS, "run.lock"}
"""Files of a run that say when and how it was made, or are compared in another way."""

PO_UNIT = '\nmsgid "{0}"\nmsgstr "{1}"\n'
XLIFF_UNIT = '<trans-unit id="{2}"><source>{0}</source><target>{1}</target></trans-unit>'
XLIFF = (
    '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" '
    'source-language="en" target-language="de" datatype="plaintext"><body>{}</body></file></xliff>\n'
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that writes into the folder `out`, next to the folder of its inputs.

    Args:
        name: of the test.
        arguments: with paths relative to a folder with both.
        resume: options that continue its unfinished work; without any, it is repeated.
    """

    name: str
    arguments: Sequence[str]
    resume: Sequence[str] = ()


TEXTS = ("--src", "in/dev.src", "--mt", "in/dev.mt")
SHORT = ("--rounds", "2", "--restarts", "1", "--set", "search.beam=2")
PAGES = [part for kind in ("json", "csv", "latex", "markdown", "html") for part in (f"--{kind}", f"out/{kind}")]
COMMANDS = [
    Command("train", ["train", "in/recipe.toml", "--out", "out/run"], ["--resume"]),
    Command(
        "edit-lines", ["edit", "in/model", *TEXTS, "--out", "out/lines", "--set", "chunk_lines=4"], ["--resume"]
    ),
    Command(
        "edit-files", ["edit", "in/model", "in/files", "--out", "out/files", "--set", "chunk_lines=4"], ["--resume"]
    ),
    Command("synth", ["synth", "in/noise.toml", "--workers", "1"], ["--resume"]),
    Command(
        "clean",
        ["data", "clean", "in/dev", "--out", "out/clean", "--set", "language.on=false", "--workers", "1"],
        ["--resume"],
    ),
    Command(
        "stats",
        ["data", "stats", "in/dev", "--dev", "in/train", "--json", "out/stats.json", "--workers", "1"],
        ["--resume"],
    ),
    Command("extract", ["data", "extract", "in/files", "--parallel", "--out", "out/made"], ["--resume"]),
    Command(
        "score",
        ["score", "in/dev.mt", "--pe", "in/dev.pe", "--mt", "in/dev.mt", "--src", "in/dev.src", *PAGES],
        ["--resume"],
    ),
    Command("gate", ["gate", "in/phrases/model", *TEXTS, "--pe", "in/dev.pe", "--out", "out/gate.json"], ["--resume"]),
    Command(
        "tune",
        ["tune", "in/model", "in/second", *TEXTS, "--pe", "in/dev.pe", "--out", "out/both.toml", *SHORT],
        ["--resume"],
    ),
]  # fmt: skip


def write_inputs(folder: Path) -> None:
    """Write what the commands read into `folder`/in."""
    inputs = folder / "in"
    (inputs / "files").mkdir(parents=True)
    rng = random.Random(7)
    texts = {side: [" ".join(rng.choices(WORDS, k=rng.randint(3, 8))) for _ in range(LINES)] for side in ("src", "mt")}
    texts["pe"] = [line.replace("house", "Haus").replace("old", "alt") for line in texts["mt"]]
    for name in ("train", "dev"):
        for side, lines in texts.items():
            (inputs / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    pairs = [*zip(texts["src"], texts["mt"], range(LINES))][:20]
    units = "".join(PO_UNIT.format(*pair) for pair in {pair[0]: pair for pair in pairs}.values())
    (inputs / "files/a.po").write_text(f'msgid ""\nmsgstr "Language: de\\n"\n{units}')
    (inputs / "files/b.xlf").write_text(XLIFF.format("\n".join(XLIFF_UNIT.format(*pair) for pair in pairs)))
    train = {"max_steps": 4, "validate_every": 2, "save_every": 1, "batch_tokens": 200, "metric": "ter"}
    tiny_models.write_recipe(inputs / "recipe.toml", train=train, search={"max_ratio": 0.5, "max_extra": 1})
    tiny_models.nonsense("transference").save(inputs / "model")
    tiny_models.nonsense("transformer").save(inputs / "second")
    (inputs / "noise.toml").write_text(
        '[synth]\nkind = "noise"\nsrc = "dev.src"\npe = "dev.pe"\nreal = "dev"\nout = "out/noise"\nchunk_lines = 5\n'
    )
    phrases = folder / "phrases"
    phrases.mkdir()
    recipe = load_phrase_recipe(write_recipe(phrases))
    train_phrases(recipe, phrases / "run", False, Console(quiet=True))
    (phrases / "run").rename(inputs / "phrases")


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """The end of a command that nothing has disturbed: its files, their names, and the seconds it took."""

    results: dict[str, object]
    names: set[str]
    seconds: float


class Workplace:
    """A folder with the inputs of all commands (`in`) and their outputs (`out`), and processes that work there."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        write_inputs(folder)
        self.folder, self.out, self._nursery = folder, folder / "out", nursery
        self._known: dict[str, Undisturbed] = {}
        self._operations: dict[str, int] = {}

    def empty(self) -> None:
        """Remove all outputs."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def start(self, command: Command, *more: str, prepare: Sequence[object] = ()) -> Running:
        """Start a command, with more options; see `Nursery.start`."""
        prepared = prepare or ["disturbances:small_steps"]
        return self._nursery.start([*command.arguments, *more], self.folder, prepared)

    def run(self, command: Command, *more: str, prepare: Sequence[object] = ()) -> Ended:
        """Run a command to its end."""
        return self.start(command, *more, prepare=prepare).wait()

    def disturb(self, at: int = 0, *, error: int = 0, number: int = 0, jump: int = 0) -> list[object]:
        """Return how `start` prepares a process whose disk fails, or that gets a signal, or whose clock is set.

        It happens at the operation `at` of those that change files; see failing_disk.c.
        """
        return ["disturbances:disturbed_disk", str(self.out), at, error, number, jump, False, str(self.folder / "seen")]

    def lose_inputs(self, at: int = 0, error: int = 0) -> list[object]:
        """Return how `start` prepares a process that can read no input any more from its read number `at` on."""
        return [
            "disturbances:disturbed_disk",
            str(self.folder / "in"),
            at,
            error,
            0,
            0,
            True,
            str(self.folder / "seen"),
        ]

    def reads(self, command: Command) -> int:
        """Return how many times the undisturbed command opens or reads a file of its inputs."""
        self.undisturbed(command)
        self.empty()
        assert self.run(command, prepare=self.lose_inputs()).code == 0
        return int((self.folder / "seen").read_text())

    def operations(self, command: Command) -> int:
        """Return how many operations that change files the undisturbed command makes."""
        if command.name not in self._operations:
            self.undisturbed(command)
            self.empty()
            assert self.run(command, prepare=self.disturb()).code == 0
            self._operations[command.name] = int((self.folder / "seen").read_text())
        return self._operations[command.name]

    def undisturbed(self, command: Command) -> Undisturbed:
        """Return the end of a command that is not disturbed; the outputs of another one are removed the first time."""
        if command.name not in self._known:
            for _ in range(2):  # the first time it fills caches
                self.empty()
                ended = self.run(command)
                assert ended.code == 0, ended.problem
            self._known[command.name] = Undisturbed(self.results(), self.names(), ended.seconds)
        return self._known[command.name]

    def results(self) -> dict[str, object]:
        """Return the content of all files of the outputs, without their clocks, by name."""
        return results(self.out)

    def names(self) -> set[str]:
        """Return the names of all outputs, hidden ones too."""
        found = (path.relative_to(self.out) for path in self.out.rglob("*"))
        return {path.as_posix() for path in found if not path.name.startswith("events.out")}


def results(out: Path) -> dict[str, object]:
    """Return the content of all files that a command leaves, without its clock, by name."""
    found: dict[str, object] = {}
    for path in sorted(out.rglob("*")):
        if not path.is_file() or path.name in UNCOMPARED or path.name.startswith("events.out"):
            continue
        content: object = path.read_bytes()
        if path.suffix == ".json":
            content = _timeless(json.loads(path.read_text(encoding="utf-8")))
        elif path.name == "log.jsonl":
            content = [_timeless(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        elif path.suffix == ".sha256":
            content = sorted(file.name for file in read_checksums(path))
        found[path.relative_to(out).as_posix()] = content
    for sums in [*out.rglob(CHECKSUMS), *out.glob("*.sha256")]:
        assert damaged_files(read_checksums(sums)) == {}
    return found


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if "second" not in name and name != "environments"}
        return {name: _timeless(each) for name, each in kept.items()}
    return [*map(_timeless, value)] if isinstance(value, list) else value
