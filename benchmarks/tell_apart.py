"""How easily can artificial triplets be told apart from real ones? Train a classifier, and report its ROC area.

    python benchmarks/tell_apart.py PREFIX... [--errors MODEL] [--most N]

PREFIX.{src,mt,pe} are real triplets. Every third line goes into the same third, so that no line is in two of them:
artificial errors are learnt from the first third and put into the post-edits of the second, and the result is compared
with the last third. Rows: the second third as it is, which cannot be told apart (0.5); plain noise of the same TER;
matched noise; and, with `--errors`, errors drawn from an error model, which should have been trained on the first third
alone (`--thirds FOLDER` writes the thirds and stops).

The classifier is a logistic regression on the word n-grams (1 to 3) and character n-grams (2 to 5) that only mt or only
pe has, and on whether there is an edit at all. Each area under the ROC curve is for lines that the classifier was not
trained on (four folds): 0.5 if it cannot tell them apart, 1.0 if it always can. "edited": only lines with an edit.
"""

import argparse
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from postedit.core.config import load_config
from postedit.core.processes import LocalExecutor
from postedit.data.lines import read_lines
from postedit.distributed.pipeline import run_job
from postedit.evaluate.ter import count_edits
from postedit.synthesis.config import SynthConfig
from postedit.synthesis.noise.noise_recipe import NoiseConfig
from postedit.synthesis.translation.parallel_text import ErrorsConfig

Pair = tuple[str, str]  # mt, pe
SIDES = ("src", "mt", "pe")
PARTS = ("learnt", "damaged", "compared")
FOLDS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", nargs="+", metavar="PREFIX")
    parser.add_argument("--errors", metavar="MODEL", help="error model to draw from; with one PREFIX")
    parser.add_argument("--most", type=int, default=8000, help="triplets of each kind, at most")
    parser.add_argument("--thirds", type=Path, metavar="FOLDER", help="write the thirds of one PREFIX there, and stop")
    options = parser.parse_args()
    if (options.errors or options.thirds) and len(options.real) > 1:
        parser.error("--errors and --thirds go with one PREFIX")
    if options.thirds:
        options.thirds.mkdir(parents=True, exist_ok=True)
        write_thirds(options.real[0], options.thirds)
        return
    print("| real triplets | compared with | TER | edited % | ROC area | edited |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for prefix in options.real:
        with tempfile.TemporaryDirectory() as folder:
            write_thirds(prefix, Path(folder))
            compare(prefix, Path(folder), options)


def write_thirds(prefix: str, folder: Path) -> None:
    """Write FOLDER/PART.SIDE for the three parts, dealing out the lines of PREFIX.SIDE in turn."""
    for side in SIDES:
        lines = list(read_lines(Path(f"{prefix}.{side}")))
        for number, part in enumerate(PARTS):
            text = "".join(f"{line}\n" for line in lines[number::3])
            (folder / f"{part}.{side}").write_text(text, encoding="utf-8")


def compare(prefix: str, folder: Path, options: argparse.Namespace) -> None:
    """Print the rows for one set of real triplets."""
    real = pairs(folder / "compared", options.most)
    systems = {"real ones": folder / "damaged"}
    rate = ter(pairs(folder / "learnt"))
    texts = {"src": str(folder / "damaged.src"), "pe": str(folder / "damaged.pe")}
    systems["plain noise"] = made(NoiseConfig, {**texts, "mode": "plain", "ter": rate}, folder / "plain")
    matched = {**texts, "real": str(folder / "learnt"), "lengths": "all"}
    systems["matched noise"] = made(NoiseConfig, matched, folder / "matched")
    if options.errors:
        systems["errors of a model"] = made(ErrorsConfig, {**texts, "model": options.errors}, folder / "drawn")
    for name, path in systems.items():
        found = pairs(path, options.most)
        everywhere, edited = area(real, found), area(*(only_edited(some) for some in (real, found)))
        share = 100 * len(only_edited(found)) / len(found)
        cells = (f"{ter(found):.1f}", f"{share:.0f}", f"{everywhere:.3f}", f"{edited:.3f}")
        print("|", " | ".join((Path(prefix).parent.name, name, *cells)), "|", flush=True)


def made(kind: type[SynthConfig], values: dict[str, object], out: Path) -> Path:
    """Make the artificial triplets that a `[synth]` section describes; return `out`, the prefix of their files."""
    config, problems = load_config(kind, {**values, "out": str(out)}, "options").resolve(Path.cwd())
    assert not problems, problems
    run_job(config.prepare(), config.triplets, LocalExecutor(1))
    return out


def pairs(prefix: Path, most: int | None = None) -> list[Pair]:
    both = zip(read_lines(prefix.with_name(f"{prefix.name}.mt")), read_lines(prefix.with_name(f"{prefix.name}.pe")))
    return list(islice(both, most))


def only_edited(found: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in found if pair[0] != pair[1]]


def ter(found: Sequence[Pair]) -> float:
    """Return TER in per cent."""
    counts = count_edits([mt for mt, _ in found], [pe for _, pe in found])
    return 100 * sum(one.edits for one in counts) / sum(one.length for one in counts)


def area(real: Sequence[Pair], artificial: Sequence[Pair]) -> float:
    """Return the area under the ROC curve of a classifier, on lines that it was not trained on."""
    size = min(len(real), len(artificial))
    texts = HashingVectorizer(analyzer=differences, n_features=1 << 20, alternate_sign=False, binary=True)
    features = texts.transform([*real[:size], *artificial[:size]])
    kinds = np.repeat([0, 1], size)
    classifier = LogisticRegression(solver="liblinear", max_iter=300)
    values = cross_val_predict(classifier, features, kinds, cv=FOLDS, method="decision_function")
    return float(roc_auc_score(kinds, values))


def differences(pair: Pair) -> list[str]:
    """Return the n-grams that only mt (marked +) or only pe (marked -) has, and whether the two differ at all."""
    mt, pe = pair
    found = ["edited" if mt != pe else "same"]
    for kind, ours, theirs in (
        ("w", grams(["<", *mt.split(), ">"], 1, 3, " "), grams(["<", *pe.split(), ">"], 1, 3, " ")),
        ("c", grams(list(mt), 2, 5, ""), grams(list(pe), 2, 5, "")),
    ):
        found += [f"+{kind}{gram}" for gram in ours - theirs] + [f"-{kind}{gram}" for gram in theirs - ours]
    return found


def grams(units: Sequence[str], shortest: int, longest: int, between: str) -> set[str]:
    """Return the n-grams of `units`, words or characters, with `shortest` to `longest` units each."""
    return {
        between.join(units[start : start + size])
        for size in range(shortest, longest + 1)
        for start in range(len(units) - size + 1)
    }


if __name__ == "__main__":
    main()
