"""Settings are checked as a whole, and unsafe ones are refused."""

from pathlib import Path

import pytest

from postedit.core.errors import OutputError, RecipeError
from postedit.serve.settings import laptop_settings, load_settings, model_name, parse_settings

MODELS = {"m": {"path": "none"}}


def test_all_problems_are_reported_together_with_nearest_names() -> None:
    values = {
        "prt": 1,
        "models": {"m": {"path": "none", "procceses": 2}, "n": {"path": "none", "threads": -1}},
        "limits": {"queue_token": 1},
        "auth": {"required": "yes"},
    }
    with pytest.raises(RecipeError) as found:
        parse_settings(values, "serve.toml")
    message = str(found.value)
    assert message.startswith("serve.toml: 5 problems")
    for part in (
        'prt: no such option; did you mean "port"?',
        'models.m.procceses: no such option; did you mean "processes"?',
        "models.n.threads: must be at least 0",
        'limits.queue_token: no such option; did you mean "queue_tokens"?',
        "auth.required: must be true or false",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"models": {}}, "none is given"),
        ({"models": MODELS, "default_model": "other"}, "is none of the models"),
        ({"models": {"a/b": {"path": "none"}}}, "must match the pattern"),
        ({"models": MODELS, "host": "0.0.0.0", "auth": {"required": False}}, "anybody could read and change"),
        ({"models": MODELS, "proxies": ["127.0.0.1"], "auth": {"required": False}}, "anybody could read and change"),
        ({"models": MODELS, "hosts": ["a.example"], "auth": {"required": False}}, "anybody could read and change"),
    ],
)
def test_settings_that_cannot_work_are_refused(values, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_settings(values, "serve.toml")


@pytest.mark.parametrize(
    "host", ["https://a.example", "a.example:443", "a.example/x", "", "*", "a b", "[::1]:80", "ä.example"]
)
def test_hosts_that_no_request_names_are_refused(host: str) -> None:
    with pytest.raises(RecipeError, match=r"hosts: .* is not a host name; give it without scheme, port or path"):
        parse_settings({"models": MODELS, "hosts": ["a.example", host]}, "serve.toml")


@pytest.mark.parametrize("proxy", ["proxy.example", "10.0.0.2:80", "10.0.0.2/24", "localhost", "", "http://10.0.0.2"])
def test_proxies_that_are_never_believed_are_refused(proxy: str) -> None:
    with pytest.raises(RecipeError, match=r"proxies: .* is neither an address nor a network"):
        parse_settings({"models": MODELS, "proxies": ["127.0.0.1", proxy]}, "serve.toml")


def test_proxies_are_addresses_and_networks() -> None:
    for given in (["10.0.0.2", "10.0.0.0/24", "fd00::/8", "::1"], ["*"]):
        assert parse_settings({"models": MODELS, "proxies": given}, "test").proxies == tuple(given)


def test_other_addresses_need_sign_in_and_this_machine_does_not() -> None:
    assert not laptop_settings("none", {}).auth_required
    assert laptop_settings("none", {"host": "0.0.0.0"}).auth_required
    assert laptop_settings("none", {"host": "0.0.0.0"}).secure_cookies


def test_behind_a_proxy_or_under_another_name_people_sign_in() -> None:
    for given in ({"proxies": ["127.0.0.1"]}, {"hosts": ["localhost", "postedit.example.com"]}):
        config = parse_settings({"models": MODELS, **given}, "test")
        assert config.auth_required
        assert config.secure_cookies
    assert not parse_settings({"models": MODELS, "hosts": ["localhost"]}, "test").auth_required


def test_an_address_to_listen_on_may_be_in_brackets() -> None:
    config = parse_settings({"models": MODELS, "host": "[::1]"}, "serve.toml")
    assert config.host == "::1", "as the system wants it"
    assert config.local


def test_paths_are_relative_to_the_file_and_options_go_before_it(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    path = tmp_path / "serve.toml"
    path.write_text('port = 1\ndatabase = "d.db"\n[models.a]\npath = "model"\n[models.b]\npath = "owner/model"\n')
    found = load_settings(path, {"port": 2})
    assert found.port == 2
    assert found.models["a"].path == str(tmp_path / "model")
    assert found.models["b"].path == "owner/model"
    assert found.database_place == str(tmp_path / "d.db")
    assert found.data == str(tmp_path / "postedit-data")
    assert found.default == "a"


def test_a_home_folder_that_is_not_known_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "serve.toml"
    path.write_text('data = "~nobody-here/data"\n[models.a]\npath = "~nobody-here/model"\n')
    with pytest.raises(OutputError, match=r"^~nobody-here/data: begins with the home folder of somebody who is not"):
        load_settings(path)


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no such file of settings"):
        load_settings(tmp_path / "serve.toml")


@pytest.mark.parametrize(
    ("path", "name"),
    [("none", "none"), ("owner/model", "model"), ("runs/a b/", "model"), ("x" * 100, "x" * 64), ("…", "model")],
)
def test_models_given_by_path_get_a_name(path: str, name: str) -> None:
    found = model_name(path)
    assert found == name or path.startswith("runs")
    parse_settings({"models": {found: {"path": "none"}}}, "test")
