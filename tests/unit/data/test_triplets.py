import json
from pathlib import Path
from typing import Any

import pytest

from postedit.core.config import load_config
from postedit.core.errors import DataError, RecipeError
from postedit.data.report import DataReport
from postedit.data.triplets import (
    LONGEST_LINE,
    DataConfig,
    SamplingWeight,
    TrainingFiles,
    Triplet,
    TripletFiles,
    check_files,
    read_triplets,
    unusable,
)


def aligned(folder: Path, src: bytes, mt: bytes, pe: bytes, name: str = "train") -> TripletFiles:
    for side, content in (("src", src), ("mt", mt), ("pe", pe)):
        (folder / f"{name}.{side}").write_bytes(content)
    return TripletFiles.of(folder / name)


def table(path: Path, text: str) -> TripletFiles:
    path.write_text(text, encoding="utf-8", newline="")
    return TripletFiles.of(path)


def texts(files: TripletFiles) -> list[tuple[str, str, str]]:
    return [(triplet.src, triplet.mt, triplet.pe) for triplet in read_triplets(files)]


def test_aligned_files(tmp_path: Path) -> None:
    files = aligned(tmp_path, b"\xef\xbb\xbfa\nb\n", b"c\r\nd", b"e\nf\n")
    assert check_files(files) == 2
    assert texts(files) == [("a", "c", "e"), ("b", "d", "f")]
    assert [triplet.line for triplet in read_triplets(files)] == [1, 2]


def test_byte_order_marks_and_crlf_are_dropped_with_a_warning(tmp_path: Path) -> None:
    files = aligned(tmp_path, b"\xef\xbb\xbfa\r\nb\r\n", b"c\nd\n", b"\xef\xbb\xbfe\nf\n")
    assert texts(files) == [("a", "c", "e"), ("b", "d", "f")]
    warnings: list[str] = []
    check_files(files, warnings.append)
    marks = [f"{tmp_path}/train.{side}: starts with a byte-order mark, which is dropped" for side in ("src", "pe")]
    assert [warning.removesuffix(" from the text") for warning in warnings[:2]] == marks
    reason = "2 lines end in CR LF (Windows line ends); the CR is dropped from the text"
    assert warnings[2:] == [f"{tmp_path}/train.src: {reason}"]
    check_files(aligned(tmp_path, b"a\r\n", b"c\n", b"e\n"), warnings.append)
    assert warnings[-1].startswith(f"{tmp_path}/train.src: 1 line ends in CR LF")


def test_tsv_with_and_without_names_of_columns(tmp_path: Path) -> None:
    assert texts(table(tmp_path / "a.tsv", "a\tb\tc\r\nd\te\tf\n")) == [("a", "b", "c"), ("d", "e", "f")]
    named = table(tmp_path / "b.tsv", "\ufeffid\tpe\tmt\tsrc\n1\tc\tb\ta\n")
    assert texts(named) == [("a", "b", "c")]
    assert check_files(named) == 2 - 1


def test_names_of_columns_in_any_case(tmp_path: Path) -> None:
    warnings: list[str] = []
    named = table(tmp_path / "a.tsv", "PE\tSrc \tMT\nc\ta\tb\n")
    assert (texts(named), check_files(named, warnings.append)) == ([("a", "b", "c")], 1)
    assert not warnings


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Source\tMT\tPost-edit", True),
        ("source text\tMachine translation\tReference", True),
        ("Source\tTarget\tTarget", True),
        ("Source\tQuelle\tQuelle", False),
        ("Original\tOriginal\toriginal", False),
        ("\t\t", False),
    ],
)
def test_unknown_names_of_columns_are_told(tmp_path: Path, line: str, told: bool) -> None:
    warnings: list[str] = []
    assert check_files(table(tmp_path / "a.tsv", f"{line}\na\tb\tc\n"), warnings.append) == 2
    assert ["reads like names of columns" in one for one in warnings] == [True] * told


def test_other_kinds_of_tables_are_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,mt,pe\n")
    with pytest.raises(DataError, match=r"a\.csv\.src: no such file; if a\.csv is a table, its name must end in \.tsv"):
        check_files(TripletFiles.model_validate(str(tmp_path / "a.csv")))


def test_jsonl(tmp_path: Path) -> None:
    lines = [{"src": "a", "mt": "b\nb", "pe": "ü\u2028", "other": 1}, {"pe": "f", "mt": "e", "src": "d"}]
    files = table(tmp_path / "a.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    assert check_files(files) == 2
    assert texts(files) == [("a", "b\nb", "ü\u2028"), ("d", "e", "f")]


def test_unequal_files_are_named_with_their_counts(tmp_path: Path) -> None:
    files = aligned(tmp_path, b"a\nb\nc\n", b"a\nb\n", b"a\nb\nc\nd\n")
    expected = rf"{tmp_path}/train\.src has 3, {tmp_path}/train\.mt has 2, {tmp_path}/train\.pe has 4"
    with pytest.raises(DataError, match=expected):
        check_files(files)
    with pytest.raises(DataError, match=expected):
        list(read_triplets(files))


def test_all_bad_lines_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    bad = b"\xe9\n" * 9
    with pytest.raises(DataError) as error:
        check_files(aligned(tmp_path, b"a\n" + bad, b"a\n" * 10, b"a\n" * 9 + b"\xff\n"))
    message = str(error.value).split("\n")
    assert message[0] == f"{tmp_path}/train.src, line 2: byte 1 (0xE9) of the line is not UTF-8; save the file as UTF-8"
    assert len(message) == 6
    assert message[-1] == "... and 5 more: 10 problems in all"


def test_bad_bytes_and_unequal_counts_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        check_files(aligned(tmp_path, b"\xe9\nb\n", b"a\nb\n", b"a\n"))
    assert "train.src, line 1" in str(error.value)
    assert "train.pe has 1" in str(error.value)


def test_all_missing_and_empty_files_are_reported_together(tmp_path: Path) -> None:
    files = aligned(tmp_path, b"", b"a\n", b"a\n")
    (tmp_path / "train.pe").rename(tmp_path / "train.post")
    for read in (check_files, lambda files: list(read_triplets(files))):
        with pytest.raises(DataError, match=r"train\.src: is empty"):
            read(files)
    with pytest.raises(DataError, match=r'train\.pe: no such file; did you mean "train\.'):
        check_files(files)


@pytest.mark.parametrize(
    ("name", "line", "problem"),
    [
        ("x.tsv", "a\tb", "line 2: 2 columns, not 3"),
        ("x.tsv", "a", "line 2: 1 column, not 3"),
        ("x.jsonl", "{", "line 2: not a JSON object with"),
        ("x.jsonl", '{"src": "a", "mt": "b"}', "line 2: not a JSON object with"),
        ("x.jsonl", r'{"src": "a", "mt": "b", "pe": "\ud83d"}', "line 2: not a JSON object with"),
        pytest.param("x.jsonl", "[" * 100_000, "line 2: not a JSON object with", id="nested"),
    ],
)
def test_malformed_lines_of_tables(tmp_path: Path, name: str, line: str, problem: str) -> None:
    good = "a\tb\tc" if name.endswith("tsv") else '{"src": "a", "mt": "b", "pe": "c"}'
    files = table(tmp_path / name, f"{good}\n{line}\n{good}\n")
    with pytest.raises(DataError, match=f"{name}, {problem}"):
        check_files(files)
    with pytest.raises(DataError, match=f"{name}, {problem}"):
        list(read_triplets(files))


def test_a_table_of_names_only_is_empty(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no triplet"):
        check_files(table(tmp_path / "x.tsv", "src\tmt\tpe\n"))


def test_a_text_of_the_greatest_length_can_be_used() -> None:
    assert unusable(Triplet("a", "b", "x" * LONGEST_LINE), ("src", "mt", "pe")) is None


def test_unusable_triplets_are_left_out_counted_and_located(tmp_path: Path) -> None:
    long = "x" * (LONGEST_LINE + 1)
    real = table(tmp_path / "real.tsv", f"a\tb\tc\n \tb\tc\na\t\tc\na\tb\t\u3000\na\tb\t{long}\n")
    more = table(tmp_path / "more.tsv", "a\tb\tc\n" + "a\t\tc\n" * 7)
    report = DataReport()
    kept = list(read_triplets([real, more], report))
    assert kept == [Triplet("a", "b", "c", real.name, 1), Triplet("a", "b", "c", more.name, 1)]
    assert report.kept == 2
    assert report.to_dict()[real.name] == {
        "read": 5,
        "kept": 1,
        "skipped": {
            "src is empty": {"count": 1, "first_lines": [2]},
            "mt is empty": {"count": 1, "first_lines": [3]},
            "pe is empty": {"count": 1, "first_lines": [4]},
            "pe has more than 10,000 characters": {"count": 1, "first_lines": [5]},
        },
    }
    assert f"{more.name}: 1 of 8 triplets kept\n  7 skipped: mt is empty (line 2, 3, 4, 5, 6, ...)" in str(report)
    json.dumps(report.to_dict())


@pytest.mark.parametrize("value", ["train", "x.tsv", "a/x.jsonl", {"src": "a.en", "mt": "a.mt", "pe": "a.pe"}])
def test_files_are_written_as_they_are_named(value: Any) -> None:
    files = TripletFiles.model_validate(value)
    assert files.model_dump(mode="json") == value
    assert TripletFiles.model_validate(files.model_dump()) == files


def test_a_recipe_names_sources_in_any_form(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("train.src", "train.mt", "train.pe", "x.tsv", "a.en", "a.mt", "a.pe"):
        (tmp_path / "data" / name).write_text("a\tb\tc\n")
    sources = ["train", "x.tsv", {"src": "a.en", "mt": "a.mt", "pe": "a.pe"}]
    config = load_config(DataConfig, {"dir": "data", "train": sources, "dev": "train"}, "recipe")
    resolved, problems = config.resolve(tmp_path)
    assert problems == []
    assert [path.name for files in resolved.train for path in files.paths] == [
        "train.src",
        "train.mt",
        "train.pe",
        "x.tsv",
        "a.en",
        "a.mt",
        "a.pe",
    ]
    assert all(path.is_absolute() for path in resolved.dev.paths)
    assert DataConfig.model_validate(resolved.model_dump(mode="json")).resolve(Path("/elsewhere")) == (resolved, [])
    assert load_config(DataConfig, {"train": "x.tsv", "dev": "x.tsv"}, "recipe").train == [TrainingFiles.of("x.tsv")]


def test_all_problems_of_the_files_are_returned(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("")
    config = load_config(DataConfig, {"train": ["train", "deev.tsv"], "dev": "dev.tsv"}, "recipe")
    _, problems = config.resolve(tmp_path)
    assert problems == [
        *(f"data.train.0: {tmp_path}/train.{side}: no such file" for side in ("src", "mt", "pe")),
        f'data.train.1: {tmp_path}/deev.tsv: no such file; did you mean "dev.tsv"?',
        f"data.dev: {tmp_path}/dev.tsv: is empty",
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train": [], "dev": "x"}, "train"),
        ({"train": 3, "dev": "x"}, "must be a prefix"),
        ({"train": [{"srcc": "a", "mt": "b", "pe": "c"}], "dev": "x"}, 'srcc: no such option; did you mean "src"'),
        ({"train": "x"}, "dev: missing"),
        ({"train": "x", "dev": "x", "max_length": 1}, "max_length"),
    ],
)
def test_contradictory_data_options_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load_config(DataConfig, values, "recipe")


def test_parallel_text_has_no_mt(tmp_path: Path) -> None:
    for name, content in {"a.en": b"a\nb\n", "a.de": b"c\n \n", "b.tsv": b"d\te\n"}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "c.jsonl").write_text('{"src": "f", "pe": "g"}\n')
    report = DataReport()
    found = [
        list(read_triplets(TripletFiles(src=str(tmp_path / src), pe=str(tmp_path / pe)), report))
        for src, pe in (("a.en", "a.de"), ("b.tsv", "b.tsv"), ("c.jsonl", "c.jsonl"))
    ]
    assert [[triplet[:3] for triplet in triplets] for triplets in found] == [
        [("a", "", "c")], [("d", "", "e")], [("f", "", "g")],
    ]  # fmt: skip
    assert "1 skipped: pe is empty (line 2)" in str(report)


def test_no_data_beside_the_recipe_asks_for_its_folder(tmp_path: Path) -> None:
    values = {"train": "train", "dev": "dev"}
    _, problems = load_config(DataConfig, values, "data").resolve(tmp_path)
    assert problems[-1] == "data.dir: not set, so paths start from the recipe's folder; --set data.dir=FOLDER sets it"
    _, of_folder = load_config(DataConfig, {**values, "dir": str(tmp_path)}, "data").resolve(Path("/elsewhere"))
    assert of_folder == problems[:-1]
    elsewhere = {"train": "/nowhere/train", "dev": "/nowhere/dev"}
    assert len(load_config(DataConfig, elsewhere, "data").resolve(tmp_path)[1]) == 6, "no folder changes these paths"
    (tmp_path / "dev.pe").write_text("a\n")
    assert len(load_config(DataConfig, values, "data").resolve(tmp_path)[1]) == 5, "so the folder is right"


def test_parallel_text_in_a_recipe(tmp_path: Path) -> None:
    values = {"train": {"src": "train.en", "pe": "train.de"}, "dev": {"src": "x.tsv", "pe": "x.tsv"}}
    config, problems = load_config(DataConfig, values, "data").resolve(tmp_path)
    assert [problem.partition(":")[0] for problem in problems] == [
        "data.train.0",
        "data.train.0",
        "data.dev",
        "data.dir",
    ]
    assert config.train[0].mt is None
    assert load_config(DataConfig, config.model_dump(mode="json", exclude_none=True), "data") == config


def test_one_text_file_cannot_hold_both_sides() -> None:
    with pytest.raises(RecipeError, match=r"src and pe are both x\.en"):
        load_config(DataConfig, {"train": {"src": "x.en", "pe": "x.en"}, "dev": "dev"}, "data")


def test_a_source_may_have_a_weight_and_epochs(tmp_path: Path) -> None:
    sources = ["a", {"files": "real", "weight": 20.0}, {"files": {"src": "x.tsv", "pe": "x.tsv"}, "until_epoch": 2}]
    config = load_config(DataConfig, {"train": sources, "dev": "dev"}, "data")
    assert [files.name for files in config.train] == ["a", "real", "x.tsv"]
    assert [files.sampling for files in config.train] == [
        SamplingWeight(),
        SamplingWeight(20.0),
        SamplingWeight(until_epoch=2),
    ]
    resolved, _ = config.resolve(tmp_path)
    assert [files.sampling for files in resolved.train] == [files.sampling for files in config.train]
    assert resolved.train[1].paths[0] == tmp_path / "real.src"
    values = config.model_dump(mode="json", exclude_none=True)
    assert values["train"][:2] == sources[:2]
    assert load_config(DataConfig, values, "data") == config


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([{"files": "a", "weight": 0.0}], "weight: must be above 0"),
        ([{"files": "a", "wait": 2.0}], 'wait: no such option; did you mean "weight"'),
        ([{"files": "a", "src": "b"}], "give files, or src, mt and pe, not both files and src"),
        ([{"files": "a", "from_epoch": 2, "until_epoch": 2}], "until_epoch 2 is not after from_epoch 2"),
        ([{"files": "a", "until_epoch": 2}], "after 2 epochs there is no source to read"),
        (
            [{"files": "a", "from_epoch": 1}, {"files": "b", "from_epoch": 3}],
            "after 0 epochs there is no source to read",
        ),
    ],
)
def test_weights_and_epochs_that_make_no_sense(train: list[object], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_config(DataConfig, {"train": train, "dev": "dev"}, "data")
    assert message in str(caught.value)


def test_sources_that_no_text_is_learnt_from(tmp_path: Path) -> None:
    real, artificial = "real", {"files": "artificial", "weight": 2.0, "learn_text": False}
    config = DataConfig(train=[real, artificial], dev="dev", too_long="cut")
    assert [files.learn_text for files in config.train] == [True, False]
    assert config.model_dump()["train"] == [real, artificial]
    resolved, _ = config.resolve(tmp_path)
    assert (resolved.too_long, resolved.train[1].learn_text) == ("cut", False)
    with pytest.raises(ValueError, match="there is no text to learn from"):
        DataConfig(train=[artificial], dev="dev")


@pytest.mark.parametrize("prefix", ["train", "d.tsv", "d.jsonl", "a.parquet"])
def test_files_are_the_same_once_written_and_read(prefix: str) -> None:
    files = TripletFiles.model_validate({side: f"{prefix}.{side}" for side in ("src", "mt", "pe")})
    assert TripletFiles.model_validate(files.model_dump(mode="json")) == files
