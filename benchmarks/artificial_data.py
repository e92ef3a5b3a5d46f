"""Does artificial data help? Train the same models on real triplets alone, and with two kinds of noise.

    python benchmarks/artificial_data.py DATA WORK [--updates U | --minutes M] [--threads N] [--only NAME ...]

DATA holds `wmt18-nmt.en-de` and `wmt18-smt.en-de` (real triplets) and `it.en-de` (parallel text). The parallel text is
cleaned and tokenised. Lines drawn from it with the length distribution of the real triplets are corrupted with matched
noise (`matched`) or with random noise of the same TER (`plain`), and mixed with three copies of the real triplets. All
models of an architecture train for the same number of minutes or, on a shared machine, for the same number of updates
on batches of the same size. Models have the sizes of `small_budget.toml`. Results that exist in WORK are kept.
"""

import argparse
import json
import platform
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from postedit.core.files import atomic_write
from postedit.editing.post_editor import PostEditor
from postedit.evaluate.scores import score_system
from postedit.jobs.training import train
from postedit.recipe import load_recipe

HERE = Path(__file__).resolve().parent
REAL = ("wmt18-nmt.en-de", "wmt18-smt.en-de")
MODELS = ("copycat-trg-small", "transference-small")
CORPORA = ("real", "matched", "plain")
SIDES = ("src", "mt", "pe")
COPIES = 3  # number of copies of the real triplets in the mix


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    make_corpora(options.data, options.work)
    for model in MODELS:
        for corpus in CORPORA:
            if f"{model}/{corpus}" in options.only or not options.only:
                measure(model, corpus, options)
    print_table(options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--updates", type=int, default=1500)
    budget.add_argument("--minutes", type=float)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], metavar="MODEL/CORPUS")
    return parser.parse_args()


def make_corpora(data: Path, work: Path) -> None:
    """Write the files WORK/{real,matched,plain,dev}.{src,mt,pe} that do not exist yet."""
    work.mkdir(parents=True, exist_ok=True)
    data = data.resolve()
    for name, part in (("real", "train"), ("dev", "dev")):
        for side in SIDES:
            if not (path := work / f"{name}.{side}").exists():
                texts = [(data / folder / f"{part}.{side}").read_text(encoding="utf-8") for folder in REAL]
                path.write_text("".join(texts), encoding="utf-8")
    if not (work / "text.pe").exists():
        text = data / "it.en-de"
        languages = ["src_lang=en", "tgt_lang=de", "tokenizer=moses"]
        command("data", "clean", f"{text}/train.en,{text}/train.de", "--out", work / "text", *sets(languages))
    for mode in ("matched", "plain"):
        if (work / f"{mode}.json").exists():
            continue
        noise = [f"synth.dir={work.resolve()}", f"synth.out={work / f'{mode}-noise'}", f"synth.mode={mode}"]
        if mode == "plain":
            made = json.loads((work / "matched-noise.json").read_text(encoding="utf-8"))
            recipe = write(
                work / "plain.toml",
                {
                    "kind": "noise",
                    "src": "matched-noise.src",
                    "pe": "matched-noise.pe",
                    "out": "x",
                    "ter": made["made"]["ter"],
                    "mode": "plain",
                },
            )
            command("synth", recipe, *sets(noise))
        else:
            recipe = write(
                work / "matched.toml",
                {
                    "kind": "noise",
                    "src": "text.src",
                    "pe": "text.pe",
                    "out": "x",
                    "real": ["real"],
                    "lengths": "real",
                },
            )
            command("synth", recipe, *sets(noise))
        corpora = [{"files": f"{mode}-noise"}, {"files": "real", "copies": float(COPIES)}]
        recipe = write(
            work / f"{mode}-mix.toml", {"kind": "mix", "dir": ".", "corpus": corpora, "out": str(work / mode)}
        )
        command("synth", recipe)


def write(path: Path, section: dict[str, Any]) -> Path:
    import tomli_w

    path.write_text(tomli_w.dumps({"synth": section}), encoding="utf-8")
    return path


def sets(assignments: Sequence[str]) -> list[str]:
    return [part for assignment in assignments for part in ("--set", assignment)]


def command(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "postedit", *map(str, arguments)], check=True)


def measure(model: str, corpus: str, options: argparse.Namespace) -> None:
    """Train a model on a corpus, or resume training, and score it on both dev sets, unless its result exists."""
    folder = options.work / "runs" / f"{model}.{corpus}"
    if (folder / "result.json").exists():
        return
    settings = tomllib.loads((HERE / "small_budget.toml").read_text(encoding="utf-8"))
    path = HERE.parent / "recipes" / f"{model}.toml"
    known = tomllib.loads(path.read_text(encoding="utf-8"))["model"]
    chosen = {**settings["all"], **{f"model.{name}": size for name, size in settings["model"].items() if name in known}}
    chosen |= {"data.dir": str(options.work.resolve()), "data.train": [corpus], "data.dev": "dev"}
    chosen |= {"train.validate_every": 10**9}  # validate at the end only
    chosen |= {"train.max_minutes": options.minutes} if options.minutes else {"train.max_steps": options.updates}
    recipe = load_recipe(path, [f"{name}={json.dumps(value)}" for name, value in chosen.items()])
    result = train(recipe, folder, resume=(folder / "recipe.toml").exists())
    editor = PostEditor.load(result.model, device="cpu")
    scores = {}
    for name in REAL:
        src, mt, pe = (
            (options.data / name / f"dev.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in SIDES
        )
        written = [edit.text for edit in editor.edit(src, mt, beam=1)]
        scores[name] = score_system(model, written, pe, mt, "none").to_dict()
        scores[f"{name}, unedited MT"] = score_system("unedited MT", mt, pe, mt, "none").to_dict()
    with atomic_write(folder / "result.json") as file:
        done = {"updates": result.training.steps, "labels": result.training.target_tokens}
        json.dump({"model": model, "corpus": corpus, **done, "scores": scores}, file)


def print_table(options: argparse.Namespace) -> None:
    paths = sorted(options.work.glob("runs/*/result.json"))
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    budget = f"{options.minutes:g} minutes" if options.minutes else f"{options.updates:,} updates"
    print(f"\n{platform.machine()}, torch {torch.__version__}, {options.threads} thread(s), {budget} a model\n")
    made = json.loads((options.work / "matched-noise.json").read_text(encoding="utf-8"))
    print(f"matched: {made['made']['triplets']:,} triplets, Kolmogorov-Smirnov distance to real {made['ks_ter']:.3f}\n")
    print("| model | trained on | updates | " + " | ".join(f"{name}: TER | BLEU" for name in REAL) + " |")
    print("| --- | --- | ---: |" + " ---: | ---: |" * len(REAL))
    if rows:
        print(f"| unedited MT | | | {cells(rows[0]['scores'], ', unedited MT')} |")
    for row in rows:
        print(f"| {row['model']} | {row['corpus']} | {row['updates']:,} | {cells(row['scores'])} |")


def cells(scores: dict[str, Any], of: str = "") -> str:
    return " | ".join(f"{scores[name + of]['ter']:.2f} | {scores[name + of]['bleu']:.2f}" for name in REAL)


if __name__ == "__main__":
    main()
