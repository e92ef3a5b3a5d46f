"""Glossary files: what is read, and the sentence for what cannot be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postedit.core.errors import DataError
from postedit.text import glossary_files
from postedit.text.glossary import GlossaryEntry
from postedit.text.glossary_files import read_entries, table_entries

TBX2 = """<?xml version="1.0"?>
<martif type="TBX" xml:lang="en"><text><body>
<termEntry id="1"><langSet xml:lang="de"><tig><term>Ordner</term></tig>
<tig><term>Verzeichnis</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig></langSet>
<langSet xml:lang="en"><ntig><termGrp><term>folder</term></termGrp></ntig></langSet></termEntry>
</body></text></martif>"""

TBX3 = """<tbx xmlns="urn:iso:std:iso:30042:ed-2" style="dct" type="TBX-Basic" xml:lang="en"
 xmlns:min="http://www.tbxinfo.net/ns/min"><text><body>
<conceptEntry id="1"><langSec xml:lang="en-US"><termSec><term>pivot table</term></termSec></langSec>
<langSec xml:lang="de"><termSec><term>Pivot-Tabelle</term></termSec><termSec><term>Drehtabelle</term>
<min:administrativeStatus>deprecatedTerm-admn-sts</min:administrativeStatus></termSec></langSec>
<langSec xml:lang="fr"><termSec><term>tableau croisé</term></termSec></langSec></conceptEntry>
</body></text></tbx>"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


HEADER = "source\ttarget\tforbidden\tcase\tsource_forms\ttarget_forms\n"


def test_columns_of_a_header_and_several_targets_are_read(tmp_path: Path) -> None:
    rows = "file\tDatei\tAkte|Datenblatt\tyes\tfiles\tDateien\nfolder\tOrdner|Verzeichnis\n"
    path = written(tmp_path, "terms.tsv", HEADER + rows)
    assert read_entries(path) == [
        GlossaryEntry("file", ("Datei",), ("Akte", "Datenblatt"), True, ("files",), ("Dateien",)),
        GlossaryEntry("folder", ("Ordner", "Verzeichnis")),
    ]


def test_source_and_target_need_no_header(tmp_path: Path) -> None:
    assert read_entries(written(tmp_path, "terms.csv", "a,b\n")) == [GlossaryEntry("a", ("b",))]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_header_names_the_columns_of_a_csv_file(tmp_path: Path, delimiter: str) -> None:
    lines = [["Forbidden", "Source", "Target"], ["", '"a, b; c"', "x"], ["y", "d", ""]]
    path = written(tmp_path, "terms.csv", "\ufeff" + "\n".join(map(delimiter.join, lines)))
    assert read_entries(path) == [GlossaryEntry("a, b; c", ("x",)), GlossaryEntry("d", (), ("y",))]


def test_tbx_2_gives_terms_and_deprecated_ones_as_forbidden(tmp_path: Path) -> None:
    assert read_entries(written(tmp_path, "t.tbx", TBX2)) == [GlossaryEntry("folder", ("Ordner",), ("Verzeichnis",))]


def test_tbx_can_forbid_a_term_in_another_case(tmp_path: Path) -> None:
    path = written(tmp_path, "t.tbx", TBX2.replace("Verzeichnis", "ordner"))
    assert read_entries(path) == [GlossaryEntry("folder", ("Ordner",), ("ordner",))]


def test_tbx_3_is_read_in_the_languages_named(tmp_path: Path) -> None:
    path = written(tmp_path, "t.tbx", TBX3)
    assert read_entries(path, ("en", "de")) == [GlossaryEntry("pivot table", ("Pivot-Tabelle",), ("Drehtabelle",))]
    assert read_entries(path, ("fr", "en-us")) == [GlossaryEntry("tableau croisé", ("pivot table",))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.tsv", "file\tDatei\nfolder\n", "line 2: needs a source term"),
        ("t.txt", "file;Datei\n", "line 1: needs .*; columns are divided by tabs, or in a .csv file"),
        ("t.tsv", HEADER + "file\tDatei\tx\tperhaps\n", "line 2: case must be yes or no"),
        ("t.tsv", HEADER + "file\tDatei\tDatei\n", "line 2: 'Datei' is both"),
        ("t.csv", "English,German,Comment\n", "line 1: a table of more than two columns needs a first line"),
        ("t.tbx", '<?xml version="1.0" encoding="shift_jis"?><martif/>', "encoding that cannot be read"),
        ("t.tbx", '<?xml version="1.0" encoding="none"?><martif/>', "cannot be read|not well-formed"),
        ("t.tsv", HEADER + "a\tb\tc\tno\te\tf\tg\n", "line 2: has 7 fields"),
        ("t.tsv", "a\t...\n", "line 1: '...' has neither a letter"),
        ("t.tsv", f"a\t{'b' * 1001}\n", "line 1: a term has 1,001 characters"),
        ("t.tsv", "\n\n", "holds no terms"),
        ("t.csv", "source,target,forbiden\n", "line 1: no column is called 'forbiden'.*forbidden"),
        ("t.csv", 'a,"b"c\n', "line 1: is not a line of a table"),
        ("t.ods", "", ".csv, .tsv or .tbx"),
        ("t.tbx", "<martif><a></martif>", "line 1, column 14: not well-formed"),
        ("t.tbx", "<html></html>", "line 1: <html> is not a glossary"),
        ("t.tbx", '<!DOCTYPE martif [\n<!ENTITY a "b">]><martif>&a;</martif>', "line 2: declares an entity"),
        ("t.tbx", "<martif>" + "<a>" * 200, "more than 100 elements"),
        ("t.tbx", TBX3, "3 languages .*#en:de"),
    ],
)
def test_a_damaged_glossary_is_refused_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_entries(written(tmp_path, name, text))


def test_the_preferred_term_of_tbx_comes_first(tmp_path: Path) -> None:
    text = TBX3.replace("deprecated", "preferred")
    found = read_entries(written(tmp_path, "t.tbx", text), ("en", "de"))
    assert found == [GlossaryEntry("pivot table", ("Drehtabelle", "Pivot-Tabelle"))]


def test_the_main_language_stands_in_for_a_variant(tmp_path: Path) -> None:
    path = written(tmp_path, "t.tbx", TBX2)
    assert read_entries(path, ("en-US", "de_DE")) == read_entries(path, ("en", "de"))


def test_a_table_in_another_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\nc,\xe4\n")
    with pytest.raises(DataError, match="line 2: is not UTF-8"):
        read_entries(path)


def test_a_path_that_exists_is_not_suggested_for_itself(tmp_path: Path) -> None:
    (tmp_path / "terms").mkdir()
    with pytest.raises(DataError) as caught:
        read_entries(tmp_path / "terms")
    assert str(caught.value) == f"{tmp_path / 'terms'}: cannot be read: Is a directory"


@pytest.mark.parametrize("languages", ["en:de", ("en",), ("en", "de", "fr"), ("en", None), 5, np.array("en")])
def test_languages_are_two_texts(tmp_path: Path, languages: Any) -> None:
    with pytest.raises(DataError, match=r'languages must be a source and a target language, such as \("en", "de"\)'):
        read_entries(written(tmp_path, "t.tbx", TBX2), languages)


def test_a_language_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no terms in 'lv'; its languages are de, en"):
        read_entries(written(tmp_path, "t.tbx", TBX2), ("en", "lv"))


def test_only_line_feeds_end_lines_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes("a\tb\x0bc\r\nd\u2028e\tf\n".encode())
    assert [(one.source, one.targets) for one in read_entries(path)] == [("a", ("b\x0bc",)), ("d\u2028e", ("f",))]


class CountedText(str):
    """Text that counts how often it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedText.compared += 1
        return str.__eq__(self, other)


def test_translations_are_not_compared_with_each_forbidden_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = ("|".join(f"{letter}{number}" for number in range(100)) for letter in "tf")
    monkeypatch.setattr(
        glossary_files, "_forms", lambda field: tuple(map(CountedText, field.split("|"))) if field else ()
    )
    (entry,) = table_entries(Path("g.tsv"), (HEADER + "a\t" + "\t".join(fields) + "\n").encode())
    assert (len(entry.targets), len(entry.forbidden)) == (100, 100)
    assert CountedText.compared < 100
