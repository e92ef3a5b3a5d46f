from pathlib import Path

from serve_tools import config_of

from postedit.serve.example_project import add_example_project, example_xliff
from postedit.serve.store import Store


def test_example_is_added_once_and_waits_for_its_import(tmp_path: Path) -> None:
    config = config_of(str(tmp_path / "a.db"), tmp_path)
    project = add_example_project(config)
    assert add_example_project(config) == project
    store = Store(config.database_place)
    [file] = store.files.of_project(project)
    [job] = store.jobs.of_project(project)
    store.close()
    assert (file["name"], file["state"]) == ("example.xlf", "importing")
    assert (job["kind"], job["state"], job["file"]) == ("import", "waiting", file["id"])


def test_texts_of_the_example_are_escaped() -> None:
    assert "<source>a &lt;b&gt; &amp; c</source>" in example_xliff([("a <b> & c", "d")])
