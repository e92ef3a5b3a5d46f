"""Settings of the service (`serve.toml`), which are validated completely before anything starts."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from postedit.adapt.adaptation_config import NO_MODEL, Learning, LearningConfig
from postedit.core.config import Config, check_config, problem_report, read_toml
from postedit.core.editor import ENDPOINT
from postedit.core.errors import RecipeError
from postedit.core.files import with_home, with_known_home
from postedit.jobs.editor_spec import Dtype
from postedit.llm.endpoint_options import EndpointSpec, LlmConfig, endpoint_model, is_loopback
from postedit.text.span_patterns import KINDS, Kind

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names and addresses by which a machine reaches itself."""

DEFAULT_PROJECT: Final = "default"
"""The id of the project that always exists."""

SHIPPED: Final = "shipped"
"""A model path that stands for the model that comes with postedit."""

_FOR_ENDPOINTS: Final = {"processes": 1, "learns": False, "batch_seconds": 10.0}
"""Defaults for a language model: requests of a batch run in parallel, so many segments take about as long as one."""

_PROMPT_REPLIES: Final = {"retries": 1, "timeout": 25.0}
"""`llm` defaults: people wait, and a process that exceeds `batch_timeout_seconds` would be ended."""

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")

_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class ServedModel(Config):
    """The `[models.NAME]` table: a model, and the processes that run it."""

    path: str = Field(
        description='model folder, hub id or language pair; "shipped": the model that comes with postedit; "none": '
        'only phrases learnt from corrections; "openai:MODEL": a language model behind an endpoint, with one process, '
        'which learns nothing; "python:MODULE:NAME": an editor of your own, which learns nothing'
    )
    processes: int = Field(
        2, ge=1, le=256, description="processes, each with a copy of the model; while one restarts, the others answer"
    )
    threads: int = Field(0, ge=0, description="threads of each process; 0: divide all cores among the processes")
    device: str = Field("cpu", description="device of all its processes, such as cpu or cuda:0")
    dtype: Dtype = Field("float32", description="type of the weights")
    learns: bool = Field(
        True, description="learn from the corrections of projects, each of which has its own copy of what is learnt"
    )
    learn: Learning = Field("auto", description="how the model learns; see `postedit edit --learn`")
    learning: LearningConfig = Field(
        LearningConfig(), description="options of learning, such as `learning.phrases.tokenizer`"
    )
    llm: LlmConfig = Field(
        LlmConfig(), description="options of openai:MODEL, such as `llm.endpoint`; defaults here: retries 1, timeout 25"
    )
    gate: str | None = Field(
        None,
        description="gate file, see `postedit gate`; used in requests and projects with this `protect` and no "
        "glossary, as long as the project has taught the model nothing",
    )
    protect: tuple[Kind, ...] = Field(
        KINDS, strict=False, description="kinds of spans that are protected in requests without a project"
    )
    projects: int = Field(
        8, ge=1, description="projects whose corrections a process keeps in memory; it drops the least recently used"
    )
    batch_tokens: int = Field(4000, ge=1, description="largest number of tokens that are edited together")
    batch_seconds: float = Field(
        0.3,
        gt=0,
        description="time that a batch should take: less keeps waits short, more raises throughput; default for "
        "openai:MODEL: 10",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_for_endpoint(cls, values: Any) -> Any:
        path, llm = (values.get("path"), values.get("llm", {})) if isinstance(values, dict) else (None, None)
        if not isinstance(path, str) or not path.startswith(ENDPOINT) or not isinstance(llm, dict):
            return values
        return {**_FOR_ENDPOINTS, **values, "llm": {**_PROMPT_REPLIES, **llm}}

    @model_validator(mode="after")
    def _check_endpoint(self) -> Self:
        if not self.path.startswith(ENDPOINT):
            if self.llm.model_fields_set:
                raise ValueError(f"llm is for {ENDPOINT}MODEL alone: leave it out")
            return self
        endpoint_model([self.path])
        for name, allowed in (("processes", 1), ("learns", False), ("dtype", "float32")):
            if getattr(self, name) != allowed:
                raise ValueError(f"{name} of {self.path} can only be {allowed!r}: leave it out")
        return self

    @property
    def endpoint(self) -> EndpointSpec | None:
        """How to ask the language model behind an endpoint; None if `path` is not `openai:MODEL`.

        The costs of all runs of the service count towards one budget of the model and its address.
        """
        name = endpoint_model([self.path])
        return None if name is None else EndpointSpec(name, self.llm, f"service: {self.path} at {self.llm.address}")


class AuthConfig(Config):
    """The `[auth]` table: who may use the service."""

    required: bool | None = Field(
        None,
        description="require a key or a sign-in; default: yes, unless host and all hosts are names of this machine and "
        "there are no proxies",
    )
    session_hours: int = Field(
        12, ge=1, description="hours after which people must sign in again, even while they work"
    )
    secure_cookies: bool | None = Field(None, description="send cookies over HTTPS only; same default as required")


class LimitsConfig(Config):
    """The `[limits]` table: limits of queues, times, sizes and rates."""

    queue_tokens: int = Field(100_000, ge=1, description="tokens that may wait; requests beyond that get 429")
    client_share: float = Field(
        0.5,
        gt=0,
        le=1,
        description="share of queue_tokens, and of uploads, that one client may hold: a user with all their keys, or a "
        "key of an administrator",
    )
    queue_seconds: float = Field(
        10.0,
        gt=0,
        description="requests that would probably wait longer for a model get 429; under overload, the limit is the "
        "time that a request takes without others, for clients that ask for more than an equal share",
    )
    timeout_seconds: float = Field(30.0, gt=0, description="time for a request that sets no time-out")
    batch_timeout_seconds: float = Field(
        120.0, gt=0, description="a model process that takes longer for a batch is stopped and restarted"
    )
    body_bytes: int = Field(
        4 * 1024**2, ge=1024, description="largest body of a request, apart from files and imports of corrections"
    )
    file_bytes: int = Field(64 * 1024**2, ge=1024, description="largest file, or import of corrections")
    uploads: int = Field(
        16, ge=1, description="files and imports of corrections that are received at the same time; more get 429"
    )
    segments: int = Field(256, ge=1, description="maximum number of segments in a request")
    characters: int = Field(5000, ge=1, description="maximum number of characters in a text")
    requests_per_second: float = Field(0.0, ge=0, description="requests per second from one address; 0: no limit")
    burst: int = Field(50, ge=1, description="requests that one address may send at once before that limit applies")


class LogConfig(Config):
    """The `[log]` table: what is logged."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is written")
    requests: bool = Field(True, description="write a line for each request")
    texts: bool = Field(False, description="write the texts of requests, too; they may be confidential")


class ServeConfig(Config):
    """All settings of the service."""

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0: any free one")
    data: str = Field("postedit-data", description="folder of files and, unless database is given, of the database")
    database: str | None = Field(
        None, description="file of SQLite, or URL of PostgreSQL; its password comes from PGPASSWORD or ~/.pgpass"
    )
    hosts: tuple[str, ...] = Field(
        (),
        strict=False,
        description="names or addresses, without port, under which clients reach the service; others are refused",
    )
    proxies: tuple[str, ...] = Field(
        (),
        strict=False,
        description="IP addresses or networks of proxies whose X-Forwarded-For and -Proto are believed",
    )
    drain_seconds: float = Field(
        0.0, ge=0, description="time between /readyz turning 503 and the end, for load balancers to notice"
    )
    default_model: str | None = Field(None, description="model of requests that name none; the first if not given")
    models: dict[Annotated[str, Field(pattern=_NAME)], ServedModel] = Field(description="models by name")
    auth: AuthConfig = Field(AuthConfig(), description="who may use the service")
    limits: LimitsConfig = Field(LimitsConfig(), description="limits")
    log: LogConfig = Field(LogConfig(), description="what is logged")

    @model_validator(mode="after")
    def _check_models(self) -> Self:
        if not self.models:
            raise ValueError("models: none is given; add a table [models.NAME] with a path")
        if self.default_model is not None and self.default_model not in self.models:
            raise ValueError(f"default_model: {self.default_model!r} is none of the models ({', '.join(self.models)})")
        return self

    @field_validator("host")
    @classmethod
    def _without_brackets(cls, host: str) -> str:
        return host.strip("[]")

    @field_validator("hosts")
    @classmethod
    def _check_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not _is_address(host.strip("[]")) and _HOST_NAME.fullmatch(host) is None:
                raise ValueError(f"{host!r} is not a host name; give it without scheme, port or path, as clients do")
        return tuple(host.strip("[]").lower() for host in hosts)

    @field_validator("proxies")
    @classmethod
    def _check_proxies(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies if proxies != ("*",) else ():
            if not _is_address(proxy, ipaddress.ip_network):  # as the web server parses it
                raise ValueError(
                    f"{proxy!r} is neither an address nor a network; give the IP address of the proxy (10.0.0.2), or a "
                    'network without bits of a host (10.0.0.0/24), and "*", for all, alone'
                )
        return proxies

    @property
    def default(self) -> str:
        """Name of the model for requests that name none."""
        return self.default_model or next(iter(self.models))

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the service, and no proxy forwards requests to it."""
        return not self.proxies and all(map(is_loopback, (self.host, *self.hosts)))

    @property
    def auth_required(self) -> bool:
        """Whether a key or a sign-in is needed."""
        return not self.local if self.auth.required is None else self.auth.required

    @property
    def secure_cookies(self) -> bool:
        """Whether browsers send session cookies over HTTPS only."""
        return not self.local if self.auth.secure_cookies is None else self.auth.secure_cookies

    @property
    def database_place(self) -> str:
        """Path of the SQLite file, or URL of the PostgreSQL database."""
        return self.database or str(Path(self.data) / "postedit.db")


def _is_address(text: str, parse: Callable[[str], object] = ipaddress.ip_address) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def load_settings(path: Path, given: Mapping[str, Any] | None = None) -> ServeConfig:
    """Return the settings of a file; `given` values, from the command line, replace those of the file.

    Paths in the file are relative to its folder.

    Raises:
        RecipeError: if a setting is not valid; the message names all problems.
        OutputError: if a path is in a home folder that is not known.
    """
    config = parse_settings({**read_toml(path, "file of settings"), **(given or {})}, str(path))
    return _resolved(config, path.resolve().parent, set(given or ()))


def parse_settings(values: Mapping[str, Any], where: str) -> ServeConfig:
    """Return validated settings.

    Raises:
        RecipeError: if a setting is not valid; the message names `where` and all problems.
    """
    config, problems = check_config(ServeConfig, values)
    if config is None:
        raise problem_report(where, problems)
    if not config.local and not config.auth_required:
        raise RecipeError(
            f"{where}: by its host, hosts or proxies the service can be reached from other machines, and auth.required "
            "is false: anybody could read and change everything; set auth.required = true, or "
            'host = "127.0.0.1" without hosts and proxies'
        )
    return config


def laptop_settings(model: str, given: Mapping[str, Any]) -> ServeConfig:
    """Return the settings that serve one model on this machine, with `given` values from the command line.

    Raises:
        RecipeError: if a setting is not valid; the message names all problems.
    """
    values = {"models": {model_name(model): {"path": model}}, "log": {"level": "warning"}, **given}
    return parse_settings(values, "postedit serve")


def model_name(path: str) -> str:
    """Return the name under which a model is served that was given by its path alone."""
    last = Path(path).resolve().name if Path(path).exists() else path.rpartition("/")[2]
    name = "".join(one if (one.isalnum() and one.isascii()) or one in "._-" else "-" for one in last).lstrip("._-")
    return name[:64] or "model"


def _resolved(config: ServeConfig, folder: Path, given: set[str]) -> ServeConfig:
    """Return settings with the paths of a settings file, which are relative to its folder, made absolute.

    Raises:
        OutputError: if one is in a home folder that is not known.
    """

    def absolute(path: str) -> str:
        return str(folder / with_known_home(path, "write the whole path"))

    models = {
        name: model.model_copy(
            update={
                "path": absolute(model.path) if _is_path(model.path, folder) else model.path,
                "gate": None if model.gate is None else absolute(model.gate),
                "llm": model.llm.model_copy(update={name: absolute(one) for name, one in model.llm.files.items()}),
            }
        )
        for name, model in config.models.items()
    }
    changed: dict[str, Any] = {"models": models}
    if "data" not in given:
        changed["data"] = absolute(config.data)
    if config.database is not None and "://" not in config.database:
        changed["database"] = absolute(config.database)
    return config.model_copy(update=changed)


def _is_path(model: str, folder: Path) -> bool:
    """Return whether a model is an existing path, not a hub id or a special name."""
    return model not in (NO_MODEL, SHIPPED) and (folder / with_home(model)).exists()
