"""Members of an ensemble that divide the same text into other pieces."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from postedit.core.errors import ModelFolderError
from postedit.core.model import Constraint, Seq2Seq, Vocabularies
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch, DecoderOutput, Stream
from postedit.data.collate import collate
from postedit.text.config import Side
from postedit.text.processor import TextProcessor


class Respelling(Seq2Seq[Any]):
    """A model that is given pieces of another one's vocabularies, and reads its own.

    The texts are put together again, which vocabularies over bytes do to the character, and divided anew. The model
    shows no attention to them: it would be to other pieces than those of the batch.
    """

    def __init__(self, model: Seq2Seq, own: TextProcessor, given: TextProcessor) -> None:
        """Wrap `model`, whose text processing is `own`, for batches that `given` makes.

        Raises:
            ModelFolderError: if texts cannot be put together again.
        """
        super().__init__()
        streams, theirs = model.spec.vocabularies.streams, given.vocabularies.streams
        read: list[Side] = [side for side in ("src", "mt") if side in model.spec.inputs]
        self._others = [side for side in read if streams[side] != theirs[side]]
        self._own, self._given = own, given
        if not all(given.vocabulary(side).lossless and own.vocabulary(side).lossless for side in self._others):
            raise ModelFolderError("its vocabulary, or the other one, cannot give a text back as it was")
        self.model = model
        self.spec = replace(
            model.spec,
            vocabularies=Vocabularies({name: theirs[name] for name in streams}, model.spec.vocabularies.target),
            attention=frozenset(key for key in model.spec.attention if not {*key.streams} & {*self._others}),
        )

    def encode(self, batch: Batch) -> Any:
        """Read the batch as the model divides it."""
        return self.model.encode(self._respelt(batch))

    def decode(self, tokens: Tensor, state: Any) -> tuple[DecoderOutput, Any]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        output, state = self.model.decode(tokens, state)
        attention = {key: weights for key, weights in output.attention.items() if key in self.spec.attention}
        return replace(output, attention=attention), state

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return what the grammar of the model demands: of mt alone, in the pieces of pe, which all write."""
        return self.model.constraints(batch)

    def _respelt(self, batch: Batch) -> Batch:
        streams: dict[str, Stream] = dict(batch.streams)
        for side in self._others:
            given, own = self._given.vocabulary(side), self._own.vocabulary(side)
            texts = [given.decode(ids) for ids in streams[side].ids.tolist()]  # padding has no text
            found = [[*pieces, EOS] for pieces in own.encode_batch(texts)]
            streams[side] = collate({side: found}, [side]).to(batch.device).streams[side]
        return replace(batch, streams=streams)
