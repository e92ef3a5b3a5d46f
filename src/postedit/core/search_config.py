"""Search options, described in one place for recipes, Python, the command line, tuning and gates."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, overload

from pydantic import BeforeValidator, Field, model_validator

from postedit.core.config import Config
from postedit.core.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

Normalisation = Literal["power", "wu"]

FORMER_NAMES: Final = {"keep": "post_edit_penalty", "keep_src": "exempt_src"}
"""Former names of options, in model folders written by earlier versions."""

_OF_TOKENS: Final = (
    "patience", "mt_candidate", "length_penalty", "normalisation", "max_ratio", "max_extra", "shortlist", "no_unk",
)  # fmt: skip
"""Options that have an effect only on a search that writes one token after the other."""

_HIGHEST: Final = 1e6  # largest price in nats; differences between scores are smaller


def _as_term(value: Any) -> Any:
    return {"target": value} if isinstance(value, str) else value


class Term(Config):
    """A required word or phrase."""

    target: str = Field(description="word or phrase that the output contains")
    source: str = Field(default="", description="only where the source contains this as whole words; empty: always")


class SearchConfig(Config):
    """The search options, which are the same for every segment.

    Raises:
        DataError: at construction, with one line for each option that is out of range.
    """

    beam: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="hypotheses kept per segment; 1: greedy search, with mt as draft if the model can",
    )
    n_best: int = Field(default=1, ge=1, description="outputs per segment, at most beam")
    patience: float = Field(
        default=1.0, ge=1, description="beam search stops when patience * beam hypotheses have finished"
    )
    mt_candidate: bool = Field(
        default=True,
        description="return mt unchanged if the model ranks it above the result of search, or if that result was cut "
        "off at the length limit",
    )
    length_penalty: float = Field(
        default=1.0, ge=0, le=10, description="rank hypotheses by score / length ** length_penalty"
    )
    normalisation: Normalisation = Field(
        default="power",
        description='"power": as above; "wu": by score / ((5 + length) / 6) ** length_penalty (Wu et al. 2016)',
    )
    mbr: float = Field(
        default=0.0,
        ge=0,
        le=_HIGHEST,
        description="minimum Bayes risk: of the outputs of the beam and mt, return the one with the fewest expected "
        "edits, with probabilities in proportion to exp(mbr * score); 0: off (Kumar and Byrne 2004)",
    )
    max_ratio: float = Field(
        default=1.5, gt=0, le=1000, description="an output has at most max_ratio * tokens of mt + max_extra tokens"
    )
    max_extra: int = Field(default=10, ge=1, le=1_000_000, description="see max_ratio")
    max_input: int = Field(
        default=512, ge=1, description="maximum number of tokens; a segment with a longer side is returned unedited"
    )
    cut_input: bool = Field(
        default=False,
        description="cut a longer side to its first max_input tokens instead; for tasks such as summaries, where mt "
        "is a text to read: spans of it are then not protected, and nothing of it is restored; needs mt_candidate = "
        "false",
    )
    batch_tokens: int = Field(
        default=4000, ge=1, description="size of a batch: rows (beams included) x tokens of its longest text"
    )
    shortlist: int = Field(
        default=0,
        ge=0,
        description="greedy search writes only tokens of mt and src and this many of the most frequent; 0: all tokens",
    )
    post_edit_penalty: float = Field(
        default=0.0, ge=0, le=_HIGHEST, description="nats for each output token that mt does not have; 0: off"
    )
    exempt_src: bool = Field(default=False, description="tokens of src are exempt from post_edit_penalty")
    edit_cost: float = Field(
        default=0.0, ge=0, le=_HIGHEST, description="nats for each token inserted, deleted or substituted; 0: off"
    )
    max_edits: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="largest number of tokens that the model inserts, deletes or substitutes",
    )
    coverage_penalty: float = Field(
        default=0.0,
        ge=0,
        le=_HIGHEST,
        description="nats for each unit of attention beyond 1 on a token of mt (or of the only input), in beam search; "
        "0: off (Gehrmann et al. 2018)",
    )
    no_repeat: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="no n-gram of this many tokens occurs more often than in mt or src, or than once; 0: off",
    )
    no_unk: bool = Field(default=False, description="never write the token for unknown words")
    banned: tuple[str, ...] = Field(default=(), strict=False, description="words and phrases that are never written")
    required: tuple[Annotated[Term, BeforeValidator(_as_term)], ...] = Field(
        default=(), strict=False, description="words and phrases that outputs contain, each for all or for some sources"
    )

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.n_best > self.beam:
            raise ValueError(f"n_best must be between 1 and beam ({self.beam}), not {self.n_best}; use a larger beam")
        if self.shortlist and self.beam > 1:
            raise ValueError(f"shortlist is for greedy search, and the beam is {self.beam}; use beam 1, or shortlist 0")
        if self.coverage_penalty and self.beam == 1:
            raise ValueError(
                "coverage_penalty ranks the hypotheses of a beam, and greedy search has one; use beam 2 or more, or 0"
            )
        if self.mbr and self.beam == 1:
            raise ValueError("mbr chooses among the outputs of a beam, and greedy search has one; use beam 4, or mbr 0")
        if self.exempt_src and not self.post_edit_penalty:
            raise ValueError("exempt_src names tokens that post_edit_penalty does not count; use both, or neither")
        if self.cut_input and (self.mt_candidate or self.needs_mt or self.n_best > 1):
            raise ValueError(
                "cut_input would lose the end of a translation that is to be kept; set mt_candidate to false, and "
                "post_edit_penalty, edit_cost and max_edits off, n_best to 1, if mt is a text to read, as for "
                "summaries; or leave cut_input out"
            )
        if not all(phrase.strip() for phrase in (*self.banned, *(term.target for term in self.required))):
            raise ValueError("a banned or required word or phrase is blank; leave it out")
        return self

    def with_options(self, **given: Any) -> Self:
        """Return a checked copy with the given options changed; see `values_with`.

        Raises:
            DataError: if a value is out of range, or two given options contradict each other.
        """
        return type(self)(**self.values_with(**given))

    def values_with(self, **given: Any) -> dict[str, Any]:
        """Return the values of all options, with the given ones changed, unchecked.

        Options that are not given but contradict given ones are reset: `shortlist` with a beam above 1, `exempt_src`
        without `post_edit_penalty`, `n_best` above the beam, and `coverage_penalty` and `mbr` in greedy search.
        """
        values = {**self.model_dump(), **given}
        if values["beam"] == 1:
            values |= {name: 0.0 for name in ("coverage_penalty", "mbr") if name not in given}
        if values["beam"] != 1 and "shortlist" not in given:
            values["shortlist"] = 0
        if not values["post_edit_penalty"] and "exempt_src" not in given:
            values["exempt_src"] = False
        if isinstance(given.get("beam"), int) and "n_best" not in given:
            values["n_best"] = min(values["n_best"], max(1, given["beam"]))
        return values

    def given(self, names: Iterable[str]) -> list[str]:
        """Return those of the named options whose value differs from the default."""
        return [name for name in names if getattr(self, name) != type(self).model_fields[name].default]

    def check_effect(self, own: "SearchConfig") -> None:
        """Check the options given to an editor that does not write token by token and whose own options are `own`.

        Raises:
            DataError: naming those that have no effect on it.
        """
        given = [name for name in self.given(_OF_TOKENS) if getattr(self, name) != getattr(own, name)]
        if given:
            names = ", ".join(f"search.{name}" for name in given)
            raise DataError(f"{names}: no effect on an editor that does not write token by token; leave out")

    @overload
    def normaliser(self, length: int) -> float: ...
    @overload
    def normaliser(self, length: "Tensor") -> "Tensor": ...
    def normaliser(self, length: "int | Tensor") -> "float | Tensor":
        """Return the divisor that normalises the score of an output of `length` tokens, EOS included."""
        base: float | Tensor = length if self.normalisation == "power" else (5 + length) / 6
        result: float | Tensor = base**self.length_penalty
        return result

    @property
    def guides(self) -> bool:
        """Whether an option forbids or favours tokens in all segments."""
        return self.needs_mt or self.no_repeat > 0 or self.no_unk or bool(self.banned)

    @property
    def needs_mt(self) -> bool:
        """Whether an option compares outputs with mt."""
        return self.post_edit_penalty > 0.0 or self.edit_cost > 0.0 or self.max_edits is not None

    @property
    def corrects_mt(self) -> bool:
        """Whether outputs are corrections of mt; if not, mt is a text to read, which they need not keep."""
        return not self.cut_input

    def outcome(self) -> dict[str, Any]:
        """Return, as JSON values, the options that can change the output of a segment, provided that it is edited."""
        values = self.model_dump(mode="json", exclude={"batch_tokens"})
        # Included only if set, so that gates and unfinished outputs from versions without these options stay valid.
        unset = [name for name in ("coverage_penalty", "cut_input", "mbr") if not values[name]]
        if not self.cut_input:
            unset.append("max_input")  # it decides whether a segment is edited, not how
        return {name: value for name, value in values.items() if name not in unset}


def with_present_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return search options written by an earlier version, under their present names."""
    return {FORMER_NAMES.get(name, name): value for name, value in values.items()}
