"""Embeddings that one model takes from another (Li et al. 2017, IV.D)."""

import torch
from torch import nn

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq, VocabularyInfo


def inherit_embeddings(model: Seq2Seq, first: Seq2Seq) -> None:
    """Give `model` the embedding tables of `first`; a text that `first` does not read, the draft, takes those of pe.

    Raises:
        RecipeError: if either has no tables to share, they differ in vocabulary or width, or one table of `model`
            would have to be two of `first`.
    """
    tables, sources = model.embeddings(), first.embeddings()
    if not tables or not sources:
        without = "the second stage" if not tables else "the first stage"
        raise RecipeError(f"{without} is of an architecture whose embeddings cannot be inherited")
    given: dict[nn.Embedding, tuple[str, nn.Embedding]] = {}
    for name, table in tables.items():
        source_name = name if name in sources else "pe"
        source = sources[source_name]
        _check_fit(name, _vocabulary(model, name), table, source_name, _vocabulary(first, source_name), source)
        other, known = given.setdefault(table, (name, source))
        if known is not source:
            raise RecipeError(
                f"{other} and {name} share a table of embeddings in the second stage, but not in the first; set "
                "share_embeddings of both to match"
            )
        with torch.no_grad():
            table.weight.copy_(source.weight)


def _vocabulary(model: Seq2Seq, name: str) -> VocabularyInfo:
    vocabularies = model.spec.vocabularies
    return vocabularies.target if name == "pe" else vocabularies.streams[name]


def _check_fit(
    name: str, ours: VocabularyInfo, table: nn.Embedding, source_name: str, theirs: VocabularyInfo, source: nn.Embedding
) -> None:
    if ours != theirs:
        raise RecipeError(
            f"the embeddings of {name} in the second stage and those of {source_name} in the first are of different "
            f"vocabularies ({ours.size} and {theirs.size} symbols); train both stages with one [text], where mt has "
            "the vocabulary of pe"
        )
    if table.embedding_dim != source.embedding_dim:
        raise RecipeError(
            f"the embeddings of {name} are {table.embedding_dim} wide in the second stage, but those of {source_name} "
            f"are {source.embedding_dim} wide in the first; give both the same width"
        )
