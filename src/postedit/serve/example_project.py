"""The example project of `postedit demo --serve`: real machine translations as a translation file."""

import io
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Final

from postedit.data.triplets import TripletFiles, read_triplets
from postedit.serve.settings import ServeConfig
from postedit.serve.store import Store
from postedit.shipped import EXAMPLES

NAME: Final = "Example"
_LANGUAGES: Final = ("en", "zh")
_SAMPLE: Final = "mlqe-pe.en-zh/test"
_WHO: Final = "postedit"


def example_xliff(pairs: Iterable[tuple[str, str]], languages: tuple[str, str] = _LANGUAGES) -> str:
    """Return an XLIFF 1.2 file of sources and their machine translations."""
    units = [
        f'<trans-unit id="{number}"><source>{escape(src, quote=False)}</source>'
        f'<target state="needs-review-translation" state-qualifier="mt-suggestion">{escape(mt, quote=False)}</target>'
        "</trans-unit>"
        for number, (src, mt) in enumerate(pairs, start=1)
    ]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">',
            f'<file original="example" datatype="plaintext" source-language="{languages[0]}" '
            f'target-language="{languages[1]}"><body>',
            *units,
            "</body></file></xliff>",
            "",
        ]
    )


def add_example_project(config: ServeConfig) -> str:
    """Add the example project to the database of a service before it starts, unless it is there; return its id."""
    store = Store(config.database_place)
    try:
        for one in store.projects.all():
            if one["name"] == NAME:
                return str(one["id"])
        triplets = read_triplets(TripletFiles.of(EXAMPLES / Path(_SAMPLE)))
        content = example_xliff((one.src, one.mt) for one in triplets).encode()
        settings = {"name": NAME, "source_language": _LANGUAGES[0], "target_language": _LANGUAGES[1]}
        project = store.projects.create(settings, _WHO, None)
        with store.database.change(project, _WHO) as change:
            file = store.files.create(change, "example.xlf", io.BytesIO(content))
            store.jobs.add(change, "import", file)
        return project
    finally:
        store.close()
