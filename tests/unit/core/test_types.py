"""Values check themselves when they are made."""

import pytest
import torch

from postedit.core.special_tokens import BOS
from postedit.core.types import Batch, Stream, Target

IDS = torch.tensor([[6, 7, 2], [8, 2, 0]])
MASK = torch.tensor([[True, True, True], [True, True, False]])


@pytest.mark.parametrize("kind", [Stream, Target])
class TestIdsAndMask:
    def test_ids_must_be_a_matrix_of_integers(self, kind: type[Stream] | type[Target]) -> None:
        with pytest.raises(ValueError, match=rf"{kind.__name__}\.ids must be Long\[rows, length\], not torch.float32"):
            kind(IDS.float(), MASK)
        with pytest.raises(ValueError, match=r"\[3\]"):
            kind(IDS[0], MASK[0])

    def test_the_mask_must_be_boolean_and_of_the_same_shape(self, kind: type[Stream] | type[Target]) -> None:
        with pytest.raises(ValueError, match=r"mask must be Bool\[2, 3\] like ids, not torch.int64"):
            kind(IDS, MASK.long())
        with pytest.raises(ValueError, match=r"\[2, 2\]"):
            kind(IDS, MASK[:, :2])


def test_streams_know_their_lengths_and_select_rows() -> None:
    stream = Stream(IDS, MASK)
    assert stream.lengths.tolist() == [3, 2]
    selected = stream.select(torch.tensor([1, 1, 0]))
    assert selected.ids.tolist() == [[8, 2, 0], [8, 2, 0], [6, 7, 2]]
    assert selected.lengths.tolist() == [2, 2, 3]


def test_a_decoder_reads_bos_and_all_labels_but_the_last() -> None:
    assert Target(IDS, MASK).inputs.tolist() == [[BOS, 6, 7], [BOS, 8, 2]]


def test_a_batch_has_the_same_rows_in_all_its_parts() -> None:
    stream = Stream(IDS, MASK)
    assert Batch({"mt": stream}, Target(IDS, MASK)).rows == 2
    with pytest.raises(ValueError, match=r"'src': 2, 'mt': 1"):
        Batch({"src": stream, "mt": stream.select(torch.tensor([0]))})
    with pytest.raises(ValueError, match=r"'target': 1"):
        Batch({"mt": stream}, Target(IDS[:1], MASK[:1]))
    with pytest.raises(ValueError, match="at least one stream"):
        Batch({})


def test_batches_move_with_all_their_parts() -> None:
    batch = Batch({"mt": Stream(IDS, MASK)}, Target(IDS, MASK)).to("meta")
    assert batch.streams["mt"].ids.device.type == batch.streams["mt"].mask.device.type == "meta"
    assert batch.target is not None
    assert batch.target.ids.device.type == batch.target.mask.device.type == "meta"
    assert Batch({"mt": Stream(IDS, MASK)}).to("meta").target is None
