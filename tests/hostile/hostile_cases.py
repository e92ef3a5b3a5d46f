"""Inputs that are damaged, or made to do harm, for the commands that read what others send.

A case has a name, such as `xliff-17`: a kind, and the seed of the damage. `special-NAME` are written by hand.
"""

import gzip
import json
import lzma
import os
import pickle
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import tiny_models
from backports import zstd

LINES: Final = [f"the house {number} goes <b>up</b> é 😀" for number in range(40)]
UNITS: Final = "".join(
    f'<trans-unit id="{number}"><source>{line.replace("<b>", "").replace("</b>", "")} <g id="1">x</g></source>'
    f'<target>das Haus {number} <g id="1">y</g></target></trans-unit>'
    for number, line in enumerate(LINES)
)
XLIFF: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file '
    f'original="a" source-language="en" target-language="de" datatype="plaintext"><body>{UNITS}</body></file></xliff>\n'
)
TMX: Final = (
    '<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en" datatype="plaintext" segtype="sentence" '
    'adminlang="en" o-tmf="x" creationtool="x" creationtoolversion="1"/><body>'
    + "".join(
        f'<tu><tuv xml:lang="en"><seg>the house {number}</seg></tuv><tuv xml:lang="de"><seg>das Haus</seg></tuv></tu>'
        for number in range(20)
    )
    + "</body></tmx>\n"
)
PO: Final = 'msgid ""\nmsgstr "Language: de\\nContent-Type: text/plain; charset=UTF-8\\n"\n' + "".join(
    f'\n#, c-format\nmsgid "the house %d {number}"\nmsgstr "das Haus %d"\n' for number in range(20)
)
GATE: Final = {"format": 1, "models": ["a"], "features": {}, "calibration": {"dev": [1, 2]}, "settings": {}}
INTERESTING: Final = [
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\r", b"\n", b"\t", b"\x1b[2J", b"&x;",
    b"]]>", b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>", b"1e999", b"-1", b"99999999999999999999",
    b"nan", b"{" * 99, b"../../x", b"/etc/passwd", b"%s%n", b'"', b"\\", b"null", b"[" * 99,
]  # fmt: skip
EDIT: Final = ["edit", "in/model", "--src", "in/x.src", "--mt", "in/x.mt", "--out", "out/x"]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return content with a few random changes."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at, many = rng.randrange(len(found) + 1), rng.choice((1, 4, 100))
        match rng.randrange(6):
            case 0:
                found[at : at + many] = rng.randbytes(many)
            case 1:
                del found[at : at + many]
            case 2:
                found[at:at] = rng.choice(INTERESTING)
            case 3:
                found[at : at + 1] = rng.choice(INTERESTING)
            case 4:
                found[at:at] = found[at : at + many] * rng.choice((1, 3, 50))
            case 5 if rng.random() < 0.3:
                del found[at:]
    return bytes(found)


def lines(folder: Path, rng: random.Random) -> list[str]:
    """Damage lines."""
    for side in ("src", "mt"):
        (folder / f"x.{side}").write_bytes(damaged("".join(f"{line}\n" for line in LINES).encode(), rng))
    return EDIT


def compressed(folder: Path, rng: random.Random) -> list[str]:
    """Damage compressed lines."""
    compress = rng.choice((gzip.compress, lzma.compress, zstd.compress))
    for side in ("src", "mt", "pe"):
        (folder / f"x.{side}").write_bytes(damaged(compress("".join(f"{line}\n" for line in LINES).encode()), rng))
    return ["data", "stats", "in/x"]


def parquet(folder: Path, rng: random.Random) -> list[str]:
    """Damage a Parquet file."""
    pq.write_table(pa.table({"src": LINES, "mt": LINES}), folder / "x.parquet")
    content = (folder / "x.parquet").read_bytes()
    (folder / "x.parquet").write_bytes(damaged(content, rng))
    return ["edit", "in/model", "--src", "in/x.parquet#src", "--mt", "in/x.parquet#mt", "--out", "out/x"]


def _file(name: str, content: str) -> Callable[[Path, random.Random], list[str]]:
    def write(folder: Path, rng: random.Random) -> list[str]:
        (folder / name).write_bytes(damaged(content.encode(), rng))
        if rng.random() < 0.3:
            return ["data", "extract", f"in/{name}", "--parallel", "--out", "out/x"]
        return ["edit", "in/model", f"in/{name}", "--out", f"out/{name}"]

    return write


def recipe(folder: Path, rng: random.Random) -> list[str]:
    """Damage a recipe."""
    for side in ("src", "mt", "pe"):
        for name in ("train", "dev"):
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    path = folder / "recipe.toml"
    tiny_models.write_recipe(path, train={"max_steps": 1, "validate_every": 1, "batch_tokens": 200, "metric": "ter"})
    path.write_bytes(damaged(path.read_bytes(), rng))
    return ["train", "in/recipe.toml", "--out", "out/run"]


def model(folder: Path, rng: random.Random) -> list[str]:
    """Damage a file of a model folder, with its digests or without them."""
    lines(folder, random.Random(0))
    for side in ("src", "mt"):
        (folder / f"x.{side}").write_text("the house\n" * 3)
    bad = folder / "bad"
    shutil.copytree(folder / "model", bad)
    path = rng.choice(sorted(one for one in bad.rglob("*") if one.is_file() and one.suffix != ".md"))
    path.write_bytes(damaged(path.read_bytes(), rng))
    if rng.random() < 0.7:
        for sums in bad.rglob("SHA256SUMS"):
            sums.unlink()
    return ["check", "in/bad"] if rng.random() < 0.3 else [*EDIT[:1], "in/bad", *EDIT[2:]]


def gate(folder: Path, rng: random.Random) -> list[str]:
    """Damage a gate."""
    lines(folder, rng)
    (folder / "gate.json").write_bytes(damaged(json.dumps(GATE).encode(), rng))
    return [*EDIT, "--gate", "in/gate.json"]


KINDS: Final[dict[str, tuple[int, Callable[[Path, random.Random], list[str]]]]] = {
    "lines": (120, lines),
    "compressed": (100, compressed),
    "parquet": (80, parquet),
    "xliff": (170, _file("x.xlf", XLIFF)),
    "tmx": (100, _file("x.tmx", TMX)),
    "po": (120, _file("x.po", PO)),
    "recipe": (100, recipe),
    "model": (160, model),
    "gate": (30, gate),
}
"""The cases of the corpus of each kind, with the seeds from 0 on, and what writes them and returns a command."""


def _bomb(compress: Callable[[bytes], bytes]) -> Callable[[Path], list[str]]:
    def write(folder: Path) -> list[str]:
        parts = compress(bytes(1 << 24)) * 128  # 2 GiB of zeros in one line
        for side in ("src", "mt", "pe"):
            (folder / f"x.{side}").write_bytes(parts)
        return ["data", "stats", "in/x"]

    return write


def _in_model(name: str, change: Callable[[Path], object]) -> Callable[[Path], list[str]]:
    """Return what changes a file of a model folder without digests."""

    def write(folder: Path) -> list[str]:
        for side in ("src", "mt"):
            (folder / f"x.{side}").write_text("the house\n")
        bad = folder / "bad"
        shutil.copytree(folder / "model", bad)
        for sums in bad.rglob("SHA256SUMS"):
            sums.unlink()
        change(bad / name)
        return [*EDIT[:1], "in/bad", *EDIT[2:]]

    return write


class _Runs:
    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch in/executed",)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 31)


def _header(length: int, header: bytes = b"{}") -> Callable[[Path], object]:
    return lambda path: path.write_bytes(struct.pack("<Q", length) + header)


def _terabyte(path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [1 << 20, 1 << 18], "data_offsets": [0, 1 << 40]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)


def _wide(path: Path) -> None:
    values = json.loads(path.read_text())
    values["model"] = {name: 1 << 40 if isinstance(one, int) else one for name, one in values["model"].items()}
    path.write_text(json.dumps(values))


def _linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def _entities(folder: Path) -> list[str]:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    bomb = XLIFF.replace("<xliff", f'<!DOCTYPE x [<!ENTITY a0 "lol">{entities}]><xliff', 1)
    (folder / "x.xlf").write_text(bomb.replace("das Haus 1", "&a11;"))
    return ["edit", "in/model", "in/x.xlf", "--out", "out/x.xlf"]


def _deep(name: str, content: str) -> Callable[[Path], list[str]]:
    def write(folder: Path) -> list[str]:
        (folder / name).write_text(content)
        command = ["train", f"in/{name}", "--out", "out/run"]
        return command if name.endswith("toml") else ["edit", "in/model", f"in/{name}", "--out", f"out/{name}"]

    return write


SPECIAL: Final[dict[str, Callable[[Path], list[str]]]] = {
    "bomb-gzip": _bomb(gzip.compress),
    "bomb-xz": _bomb(lzma.compress),
    "bomb-zstd": _bomb(zstd.compress),
    "pickle-weights": _in_model("model.safetensors", lambda path: path.write_bytes(pickle.dumps(_Runs()))),
    "pickle-config": _in_model("config.json", lambda path: path.write_bytes(pickle.dumps(_Runs()))),
    "pickle-vocabulary": _in_model("text/vocabulary.joint.json", lambda path: path.write_bytes(pickle.dumps(_Runs()))),
    "giant-header": _in_model("model.safetensors", _header(1 << 62)),
    "long-header": _in_model("model.safetensors", _header(1 << 20)),
    "terabyte-tensor": _in_model("model.safetensors", _terabyte),
    "terabyte-config": _in_model("config.json", _wide),
    "sparse-vocabulary": _in_model("text/vocabulary.joint.json", _sparse),
    "sparse-config": _in_model("config.json", _sparse),
    "sparse-weights": _in_model("model.safetensors", _sparse),
    "linked-config": _in_model("config.json", _linked),
    "deep-config": _in_model("config.json", lambda path: path.write_text("[" * 100_000)),
    "deep-recipe": _deep("x.toml", f"a = {'[' * 100_000}"),
    "deep-xliff": _deep("x.xlf", XLIFF.replace("das Haus 1", "<g id='1'>" * 5000)),
    "entities": _entities,
    "one-line-po": _deep("x.po", f'msgid "{"a" * (1 << 24)}"\nmsgstr "b"\n'),
    "unfinished-po": _deep("x.po", 'msgid "a\n' * 100_000),
}


def names() -> list[str]:
    """Return the names of all cases of the corpus."""
    generated = [f"{kind}-{seed}" for kind, (count, _) in KINDS.items() for seed in range(count)]
    return [*(f"special-{name}" for name in SPECIAL), *generated]


def write_case(name: str, folder: Path) -> list[str]:
    """Write the files of a case into `folder`, which has a model, and return the command that reads them."""
    kind, _, rest = name.partition("-")
    if kind == "special":
        return SPECIAL[rest](folder)
    return KINDS[kind][1](folder, random.Random(name))
