"""Settings of projects as model processes get them."""

from postedit.serve.store import Store


def test_the_languages_of_a_project_come_with_its_settings(store: Store) -> None:
    store.projects.change("default", {"source_language": "en", "target_language": "ja"}, "anna")
    settings = store.projects.edit_settings("default")
    assert settings is not None
    assert settings.languages == ("en", "ja")
    assert store.projects.edit_settings("missing") is None
