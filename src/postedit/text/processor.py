"""The text processing of a model: from text to token ids and back."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

from rapidfuzz.distance import Levenshtein

from postedit.core.checksums import record_folder, recorded_damage
from postedit.core.config import load_config
from postedit.core.editor import Edit, Side
from postedit.core.errors import ModelFolderError
from postedit.core.files import atomic_write, load_json
from postedit.core.model import Vocabularies
from postedit.core.special_tokens import EOS, UNK
from postedit.text.config import GROUPS, SIDES, TRUECASED, TextConfig
from postedit.text.edits import divided_edits, splice
from postedit.text.pretrained_vocabulary import PretrainedVocabulary, checkpoint_vocabularies
from postedit.text.truecase import Truecaser, sentence_starts
from postedit.text.vocabulary import LimitedVocabulary, Subwords, Vocabulary, explain_damage
from postedit.text.words import PlainSplitter, capitalise, splitter

_SETTINGS: Final = "text.json"


class TripletTexts(Protocol):
    """An object with the three texts of a triplet."""

    @property
    def src(self) -> str:
        """The source."""

    @property
    def mt(self) -> str:
        """The machine translation."""

    @property
    def pe(self) -> str:
        """The post-edit."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """The text of a post-edit.

    Args:
        text: the post-edited text; the string `mt` itself if nothing changed.
        changed: whether it differs from mt.
        edits: what changed, in order; `apply_edits(mt, text, edits) == text`.
    """

    text: str
    changed: bool
    edits: tuple[Edit, ...]


class TextProcessor:
    """Divides text into words and tokens, and renders tokens as text.

    Args:
        config: the `[text]` section of a recipe.
        vocabularies: the vocabularies, by the names in `GROUPS[config.vocabulary.sharing]`.
        truecasers: the truecasers for "src" and "pe" (the latter serves mt too); empty unless `config.truecase`.
    """

    def __init__(
        self, config: TextConfig, vocabularies: Mapping[str, Subwords], truecasers: Mapping[str, Truecaser]
    ) -> None:
        self.config = config
        self._named = dict(vocabularies)
        groups = GROUPS[config.vocabulary.sharing]
        self._vocabularies = {side: self._named[name] for name, sides in groups.items() for side in sides}
        self._truecasers = dict(truecasers)
        self._words = {side: _words_of(config, side, truecasers) for side in SIDES}

    @classmethod
    def fit(cls, config: TextConfig, triplets: Callable[[], Iterable[TripletTexts]]) -> "TextProcessor":
        """Learn truecasing and vocabularies from the training triplets.

        Args:
            config: the `[text]` section of a recipe.
            triplets: returns an iterator over all triplets each time it is called.

        Raises:
            RecipeError: if the vocabulary is to be taken from a checkpoint that cannot be loaded or used.
        """
        truecasers: dict[str, Truecaser] = {}
        for side in TRUECASED if config.truecase else ():
            words = _words_of(config, side, {})
            truecasers[side] = Truecaser.train(words(getattr(triplet, side)) for triplet in triplets())
        groups = GROUPS[config.vocabulary.sharing]
        if config.vocabulary.checkpoint is not None:
            return cls(config, checkpoint_vocabularies(config.vocabulary.checkpoint, groups), truecasers)
        vocabularies: dict[str, Subwords] = {}
        for name, sides in groups.items():
            readers = [(side, _words_of(config, side, truecasers)) for side in sides]

            def texts(readers: Sequence[tuple[Side, Callable[[str], list[str]]]] = readers) -> Iterator[str]:
                return (" ".join(words(getattr(triplet, side))) for triplet in triplets() for side, words in readers)

            whole = Vocabulary.train(texts(), config.vocabulary.size_of(name))
            limit = config.vocabulary.limit
            copied = config.vocabulary.copied_of(name)
            vocabularies[name] = LimitedVocabulary.of(whole, texts(), limit, copied) if limit else whole
        return cls(config, vocabularies, truecasers)

    @property
    def vocabularies(self) -> Vocabularies:
        """Sizes and fingerprints of the vocabularies, for the model."""
        streams = {side: self._vocabularies[side].info for side in ("src", "mt")}
        return Vocabularies(streams, self._vocabularies["pe"].info)

    @property
    def truecasers(self) -> Mapping[str, Truecaser]:
        """The truecasers for "src" and "pe"; empty without truecasing."""
        return self._truecasers

    def lacks(self, character: str) -> bool:
        """Return whether no token of the target vocabulary contains `character`, so that it is written byte by byte."""
        return character not in self._characters

    @cached_property
    def _characters(self) -> frozenset[str]:
        vocabulary = self.vocabulary("pe")
        return frozenset(" ".join(vocabulary.readable(range(vocabulary.size))))  # readable tokens have ▁ for a space

    @property
    def tokens(self) -> dict[str, tuple[str, ...]]:
        """The tokens of the vocabulary of each side, in the order of their ids."""
        return {side: vocabulary.tokens for side, vocabulary in self._vocabularies.items()}

    def vocabulary(self, side: Side) -> Subwords:
        """Return the vocabulary of one side."""
        return self._vocabularies[side]

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of `text` as the model reads them: tokenised and truecased."""
        return self._words[side](text)

    def encode_batch(self, side: Side, texts: Sequence[str], mt: Sequence[str | None] = ()) -> list[list[int]]:
        """Return the token ids of each text, ending with EOS.

        Args:
            side: the side that the texts belong to.
            texts: the texts.
            mt: for post-edits, the mt of each, so that unknown tokens which mt also has can be encoded as copied tokens
                (`vocabulary.copied`).

        Raises:
            DataError: if a text is not valid Unicode.
        """
        words, vocabulary = self._words[side], self._vocabularies[side]
        split = [" ".join(words(text)) for text in texts]
        if side == "mt":
            batch = vocabulary.encode_beside(split, split)
        elif side == "pe" and mt and vocabulary.info.copied:
            batch = vocabulary.encode_beside(split, [" ".join(self._words["mt"](text or "")) for text in mt])
        else:
            batch = vocabulary.encode_batch(split)
        for ids in batch:
            ids.append(EOS)
        return batch

    def without_lost_copies(self, pe: list[int], mt: Sequence[int]) -> list[int]:
        """Return the ids of pe with UNK in place of the copied tokens that no longer occur in `mt`, which was cut."""
        info, known = self._vocabularies["pe"].info, set(mt)
        if not info.copied:
            return pe
        first = info.size - info.copied
        return [UNK if one >= first and one not in known else one for one in pe]

    def spelt(self, side: Side, ids: Sequence[int]) -> str:
        """Return the words of a text given as ids, separated by spaces; special tokens are ignored."""
        return self._vocabularies[side].decode(ids)

    def written(self, known: Sequence[str], ids: Sequence[int]) -> list[str]:
        """Return the words that a model wrote as `ids` when it post-edited mt with the words `known`."""
        # Divide the text anew: a model may write any bytes, including line feeds.
        words = PlainSplitter().words(self._vocabularies["pe"].decode_beside(ids, " ".join(known)))
        return words if self._vocabularies["pe"].lossless else self._as_in_mt(known, words)

    def render(self, mt: str, ids: Sequence[int]) -> Rendering:
        """Return the text that a model wrote as `ids` (special tokens are ignored) when it post-edited `mt`.

        If the words are those of `mt`, the text is the string `mt` itself. Otherwise unchanged words keep their raw
        characters and spacing, and changed spans are detokenised. If the words of `mt` cannot be located in the raw
        text, or the detokeniser rewrites a word, the whole output is detokenised. Edits of running text in scripts
        without spaces are divided by characters.
        """
        known = self.words("mt", mt)
        pe = self.written(known, ids)
        if pe == known:
            return Rendering(mt, False, ())
        split = splitter(self.config.tokenizer, self.config.tgt_lang)
        places = split.spans(mt)
        if self.config.truecase:
            pe = _with_capitals(split.words(mt), known, pe, self.config.tgt_lang or "")
        mt_gaps, pe_gaps = split.gaps([word.text for word in places or ()]), split.gaps(pe)
        if places is None or mt_gaps is None or pe_gaps is None:
            text = split.join(pe)
            edits: tuple[Edit, ...] = (Edit("replace", (0, len(mt)), (0, len(text))),)
        else:
            text, edits = splice(mt, places, mt_gaps, pe, pe_gaps)
        edits = divided_edits(mt, text, edits)
        return Rendering(text, True, edits) if text != mt else Rendering(mt, False, ())

    def _as_in_mt(self, known: Sequence[str], pe: Sequence[str]) -> list[str]:
        """Return the words `pe`, with unchanged words written as in `known`, the words of mt.

        A vocabulary that is not lossless decodes some words in another form, such as three full stops for an ellipsis,
        or as unknown. In `pe`, such forms are replaced by the words of mt that they come from.
        """
        vocabulary, text = self._vocabularies["pe"], " ".join(known)
        encoded = vocabulary.encode_beside(known, [text] * len(known))
        forms = [PlainSplitter().words(vocabulary.decode_beside(ids, text)) for ids in encoded]
        stretches = _stretches(known, forms)
        decoded = [word for stretch in stretches for word in stretch.form]
        if pe == decoded:
            return list(known)
        counterpart = dict(_matches(decoded, pe))
        written: list[list[str]] = [[text] if (text := word.replace("\ufffd", "")) else [] for word in pe]
        start = 0
        for stretch in stretches:
            places = [counterpart.get(start + offset) for offset in range(len(stretch.form))]
            start += len(places)
            if places and None not in places:
                first, *others = (place for place in places if place is not None)
                written[first] = stretch.words
                for place in others:
                    written[place] = []
        return [word for words in written for word in words]

    def save(self, folder: Path) -> None:
        """Write configuration, vocabularies and truecasers as JSON files into an existing folder.

        Raises:
            OutputError: if the files cannot be written.
        """
        fingerprints = {}
        for name, vocabulary in self._named.items():
            vocabulary.save(folder / f"vocabulary.{name}.json")
            fingerprints[name] = vocabulary.fingerprint
        for side, truecaser in self._truecasers.items():
            truecaser.save(folder / f"truecase.{side}.json")
        with atomic_write(folder / _SETTINGS) as file:
            config = self.config.published().model_dump(exclude={"model"})
            json.dump({"config": config, "fingerprints": fingerprints}, file, indent=2)
        record_folder(folder)

    @classmethod
    def load(cls, folder: Path) -> "TextProcessor":
        """Return the processor saved in `folder`.

        Raises:
            ModelFolderError: if a file is missing or damaged, or a vocabulary does not belong to the model.
        """
        if damage := recorded_damage(folder):
            raise ModelFolderError(f"{damage}; copy the model folder again")
        config, fingerprints = _load_settings(folder / _SETTINGS)
        kind = _kind_of(config)
        vocabularies: dict[str, Subwords] = {}
        for name in GROUPS[config.vocabulary.sharing]:
            path = folder / f"vocabulary.{name}.json"
            vocabularies[name] = kind.load(path)
            if vocabularies[name].fingerprint != fingerprints.get(name):
                raise ModelFolderError(f"{path}: is not the vocabulary of this model; copy the model folder again")
        sides = TRUECASED if config.truecase else ()
        return cls(config, vocabularies, {side: Truecaser.load(folder / f"truecase.{side}.json") for side in sides})


def _kind_of(config: TextConfig) -> type[Vocabulary | LimitedVocabulary | PretrainedVocabulary]:
    """Return the class of the vocabularies that a `[text]` section asks for."""
    if config.vocabulary.checkpoint is not None:
        return PretrainedVocabulary
    return LimitedVocabulary if config.vocabulary.limit else Vocabulary


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Adjacent words, and their form after a vocabulary has encoded and decoded them."""

    form: list[str]
    words: list[str]


def _stretches(words: Sequence[str], forms: Sequence[list[str]]) -> list[_Stretch]:
    """Group `words` so that each group has a non-empty form; a word without a form joins the group before it."""
    stretches: list[_Stretch] = []
    for word, form in zip(words, forms):
        if stretches and not (form and stretches[-1].form):
            last = stretches.pop()
            stretches.append(_Stretch(last.form + form, [*last.words, word]))
        else:
            stretches.append(_Stretch(form, [word]))
    return stretches


def _words_of(config: TextConfig, side: Side, truecasers: Mapping[str, Truecaser]) -> Callable[[str], list[str]]:
    """Return the function from text to words for one side."""
    words = splitter(config.tokenizer, config.language(side)).words
    truecaser = truecasers.get("src" if side == "src" else "pe")
    return words if truecaser is None else lambda text: truecaser.truecase(words(text))


def _with_capitals(raw: Sequence[str], known: Sequence[str], pe: Sequence[str], language: str) -> list[str]:
    """Return the truecased words `pe`, in a language, with capitals restored.

    Sentences start with a capital, except the first one if that of `raw` does not. A word of mt that stays at the start
    of a sentence, or stays inside one, is written as in `raw`, the words of mt before truecasing; `known` are those
    after it.
    """
    raw_starts, pe_starts = sentence_starts(raw), sentence_starts(pe)
    first = next((word for word, start in zip(raw, raw_starts) if start), "")
    written = list(pe)
    for place, start in enumerate(pe_starts):
        if start and not (first[:1].islower() and True not in pe_starts[:place]):
            written[place] = capitalise(pe[place], language)
    for old, new in _matches(known, pe):
        if raw_starts[old] == pe_starts[new]:
            written[new] = raw[old]
    return written


def _matches(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions in both texts of the words left unchanged by the fewest edits from `one` to `other`."""
    for block in Levenshtein.opcodes(one, other).as_matching_blocks():
        yield from zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size))


def model_text(folder: Path) -> Path:
    """Return the folder of the text processing in a model folder."""
    return folder / "text"


def _load_settings(path: Path) -> tuple[TextConfig, Mapping[str, str]]:
    with explain_damage(path, "the text configuration"):
        values: Any = load_json(path)
        return load_config(TextConfig, values["config"], str(path)), dict(values["fingerprints"])
