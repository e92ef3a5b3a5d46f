"""Options of a language model behind an endpoint. The module imports nothing slow."""

import ipaddress
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator, model_validator

from postedit.core.config import Config
from postedit.core.editor import ENDPOINT
from postedit.core.errors import DataError
from postedit.core.files import with_known_home
from postedit.text.language_tags import LanguagePair, language_pair

DEFAULT_ENDPOINT: Final = "https://api.openai.com/v1"
ENDPOINT_VARIABLE: Final = "OPENAI_BASE_URL"

Consensus = Literal["chrf", "ter"]
Structure = Literal["auto", "json-schema", "none"]


_NO_SECRET: Final = "must be an address without user, password, '@' and query: keys come from the environment alone"


class LlmOptions(Config):
    """Options for requests to a language model behind an endpoint, and for choosing among its answers.

    They may complete those that a combination stores, so they are checked one by one; see `LlmConfig`.
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # an address may contain a password

    endpoint: str = Field(
        default="", description=f"address of the server, up to /v1; ${ENDPOINT_VARIABLE} or that of OpenAI if empty"
    )
    key_variable: str = Field(
        default="OPENAI_API_KEY",
        description="environment variable with the key; it may be unset for servers without keys",
    )
    prompt: str = Field(
        default="minimal", description='"plain", "minimal", "error-spans", or a TOML file; see the how-to on prompts'
    )
    languages: LanguagePair = Field(
        default="", description='source and target, such as "en:de"; empty: the prompt names no languages'
    )
    segments: int = Field(default=8, ge=1, le=100, description="maximum number of segments in a request")
    temperature: float = Field(
        default=0.0, ge=0, le=2, description="sampling temperature; must be above 0 if llm.samples > 1"
    )
    seed: int = Field(default=1, ge=0, description="seed of sampling, for servers that accept one")
    structure: Structure = Field(
        default="auto",
        description="json-schema: the server enforces a schema; none: answers are parsed only; auto: if it can",
    )
    extra_tokens: int = Field(
        default=0, ge=0, description="additional tokens of an answer, for models that reason before they answer"
    )

    least_kept: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="minimum similarity of an answer to mt, from 0 to 1 (identical); below it, mt is kept",
    )

    examples: int = Field(
        default=4, ge=0, le=50, description="number of similar corrections from --memory shown for a segment"
    )
    least_similarity: float = Field(
        default=0.3, ge=0, le=1, description="least similarity of an example, from 0 to 1 (the same source and mt)"
    )
    context_tokens: int = Field(
        default=1000,
        ge=0,
        description="approximate limit of the tokens of examples and terms in a request; the least similar are dropped",
    )

    samples: int = Field(default=1, ge=1, le=64, description="answers sampled for a segment; one is chosen")
    consensus: Consensus = Field(
        default="chrf", description="metric by which the sample, or mt, nearest to all others is chosen"
    )
    scorer: str = Field(
        default="",
        description="model folder whose forced scores choose among samples and mt, in place of llm.consensus",
    )
    tags: str = Field(
        default="",
        description="file of OK and BAD tags for gaps and words of mt: only edits where it has BAD are kept",
    )
    tagged: str = Field(default="", description="file of the lines of mt that llm.tags describes")

    concurrency: int = Field(default=8, ge=1, le=1000, description="maximum number of concurrent requests")
    requests_per_minute: int = Field(default=0, ge=0, description="maximum number of requests per minute; 0: no limit")
    tokens_per_minute: int = Field(
        default=0, ge=0, description="maximum number of tokens per minute, of prompts and answers; 0: no limit"
    )
    timeout: float = Field(default=120.0, gt=0, description="seconds for an answer")
    retries: int = Field(default=6, ge=0, le=50, description="retries of a request after a temporary error")

    prices: str = Field(
        default="", description="TOML file of prices per million tokens; without one, costs are unknown"
    )
    budget: float = Field(
        default=0.0,
        ge=0,
        description="cost at which the work stops, including earlier parts of the same work; 0: no limit",
    )
    cache: str = Field(
        default="",
        description="file that keeps answers, so that none is paid for twice; empty: in the cache folder of the user",
    )

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        if value and not _may_have_secret(value):
            check_address(value)
        return value.rstrip("/")

    @model_validator(mode="after")
    def _check_secret(self) -> Self:
        if _may_have_secret(self.endpoint):  # not raised by a field validator, which would show the value
            raise ValueError(f"endpoint {_NO_SECRET}")
        return self

    @property
    def address(self) -> str:
        """Address of the server, without a slash at its end.

        Raises:
            DataError: if the value of the environment variable is used and is not an address.
        """
        if self.endpoint:
            return self.endpoint
        given = os.environ.get(ENDPOINT_VARIABLE, "")
        try:
            check_address(given or DEFAULT_ENDPOINT)
        except ValueError as error:
            raise DataError(f"${ENDPOINT_VARIABLE} {error}") from None
        return (given or DEFAULT_ENDPOINT).rstrip("/")

    @property
    def files(self) -> dict[str, str]:
        """Given options that name local files, by name; without the scorer, which may be on the hub."""
        named = {name: str(getattr(self, name)) for name in ("cache", "prices", "tags", "tagged")}
        if self.prompt.endswith(".toml"):
            named["prompt"] = self.prompt
        return {name: value for name, value in named.items() if value}

    @property
    def language_pair(self) -> tuple[str, str]:
        """Codes or names of source and target language; empty if not given."""
        return language_pair(self.languages)

    @property
    def cache_file(self) -> Path:
        """Path of the file that keeps the answers.

        Raises:
            OutputError: if it is in a home folder that is not known.
        """
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        path = self.cache or f"{root}/postedit/llm-answers.sqlite"
        return with_known_home(path, "set llm.cache to the path of a file")


class LlmConfig(LlmOptions):
    """All options of requests to one language model, checked against each other."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.samples > 1 and not self.temperature:
            raise ValueError("samples are all the same at temperature 0: set temperature as well, to 0.7 for instance")
        if bool(self.tags) != bool(self.tagged):
            raise ValueError("tags and tagged name the two files of quality tags: give both, or neither")
        if self.budget and not self.prices:
            raise ValueError("a budget needs prices: name a file of them with llm.prices")
        return self


def check_address(value: str) -> None:
    """Check the address of a server.

    Raises:
        ValueError: if it is not an address, or may contain a key or password, which would be shown and recorded.
    """
    if _may_have_secret(value):  # checked first, because the other messages quote parts of the address
        raise ValueError(_NO_SECRET)
    try:
        parts = urlsplit(value)
        _ = parts.port  # urlsplit checks the port only when it is read
    except ValueError as error:
        raise ValueError(f"must be an address such as http://127.0.0.1:8000/v1: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address such as http://127.0.0.1:8000/v1")


def _may_have_secret(address: str) -> bool:
    """Return whether an address may contain a password or key, even one with '/' or '#' in it that misleads parsers."""
    return any(sign in address for sign in "@?#")


def is_local(address: str) -> bool:
    """Return whether an address is on this machine; a host name that only begins like a local one is not."""
    return is_loopback(urlsplit(address).hostname or "")


def is_loopback(host: str) -> bool:
    """Return whether an address or a host name is one by which only this machine reaches itself."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_open_to_listeners(address: str) -> bool:
    """Return whether data sent to an address would travel unencrypted to another machine."""
    return urlsplit(address).scheme == "http" and not is_local(address)


def foreign_key(config: LlmConfig) -> str | None:
    """Return a warning if a key meant for another host would be sent to the endpoint; None otherwise.

    The key in $OPENAI_API_KEY is taken to be for the host of $OPENAI_BASE_URL, or of OpenAI if that is not set, unless
    `llm.key_variable` names the variable explicitly. Endpoints on this machine cause no warning.
    """
    variable = config.key_variable
    meant = urlsplit(os.environ.get(ENDPOINT_VARIABLE) or DEFAULT_ENDPOINT).hostname
    host = urlsplit(config.address).hostname
    is_named = "key_variable" in config.model_fields_set
    if is_named or host == meant or is_local(config.address) or not os.environ.get(variable, "").strip():
        return None
    return (
        f"the key in ${variable}, which is for {meant}, will be sent to {host}: name the variable with the key for "
        f"{host} with llm.key_variable ({variable}, if it is that one)"
    )


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """Specification of a language model behind an endpoint.

    Args:
        model: name of the model on the server.
        config: options of requests.
        run: identifier of the work; all costs with the same identifier count together, also when interrupted work is
            continued. A new one if not given.
    """

    model: str
    config: LlmConfig
    run: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def job(self) -> dict[str, Any]:
        """Entries of a job record with which work continues: its run, and the file of answers, which has the costs."""
        return {"llm run": self.run, "llm.cache": str(self.config.cache_file)}

    def continued(self, before: Mapping[str, Any]) -> Self:
        """Return the specification with the run of the job `before`, if it names one, so that earlier costs count."""
        run = before.get("llm run")
        return replace(self, run=run) if isinstance(run, str) else self


def endpoint_model(models: Sequence[str]) -> str | None:
    """Return the name of the model behind an endpoint if `models` names one; None if it names only files.

    Raises:
        DataError: if the name is empty, or other models are named as well.
    """
    if not any(model.startswith(ENDPOINT) for model in models):
        return None
    if len(models) > 1:
        raise DataError(f"{', '.join(models)}: a model behind an endpoint cannot be in an ensemble; name it alone")
    name = models[0].removeprefix(ENDPOINT)
    if not name.strip():
        raise DataError(f"{models[0]}: write the name that the server has for the model, as {ENDPOINT}gpt-4o-mini")
    return name


class EndpointMember(NamedTuple):
    """A member of a combination: the name of a model on its server, and the options with which it was tuned."""

    model: str
    options: Mapping[str, Any]


def endpoint_member(values: Mapping[str, Any]) -> EndpointMember | None:
    """Return the language model among the members of a combination; None if there is none.

    `values` are the contents of its file, which are checked in other respects only when the combination is loaded.
    """
    members, options = values.get("members"), values.get("llm", {})
    paths = [one.get("path") for one in members if isinstance(one, dict)] if isinstance(members, list) else []
    named = [one for one in paths if isinstance(one, str) and one.startswith(ENDPOINT)]
    if not named or not isinstance(options, dict):
        return None
    return EndpointMember(named[0].removeprefix(ENDPOINT), options)
