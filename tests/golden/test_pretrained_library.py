"""`pretrained` against the library's own forward pass, its ids written out by hand."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from checkpoints import KINDS, t5
from torch import Tensor

from postedit.core.config import load_config
from postedit.core.special_tokens import BOS, EOS, PAD, SEP, SPECIAL_TOKENS, STEP, UNK
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.models.pretrained import Pretrained, PretrainedConfig
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import TextProcessor

SRC = ["the house goes", "two house", "not the two house goes ."]
MT = ["ein Haus gehen", "drei Häuser nicht über zwei", "nicht"]
CONTROLS = {"bart": ["<s>", "<mask>"], "nllb": ["<s>", "eng_Latn", "deu_Latn"]}
LANGUAGES = {"nllb": {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"}}


class Case:
    """Our model of a checkpoint, the library's, and the rows of the joint texts as the library would be given them."""

    def __init__(self, kind: str, folder: Path, dtype: torch.dtype) -> None:
        path = str((t5 if kind == "t5 untied" else KINDS[kind])(folder / "checkpoint", **UNTIED.get(kind, {})))
        options = {"checkpoint": path, **LANGUAGES.get(kind, {})}
        config = load_config(PretrainedConfig, options, "recipe")
        self.processor = TextProcessor.fit(
            TextConfig(vocabulary=VocabularyConfig(checkpoint=path, sharing="mt-pe")), lambda: iter(())
        )
        self.model = Pretrained(config, self.processor.vocabularies)
        self.model.load_initial_weights()
        self.model.to(dtype).eval().requires_grad_(False)
        ids = {side: self.processor.encode_batch(side, texts) for side, texts in (("src", SRC), ("mt", MT))}
        self.batch: Batch = collate(ids, ["src", "mt"])

        self.tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        library = transformers.AutoModelForSeq2SeqLM.from_pretrained(path, attn_implementation="eager")
        self.old = library.config.vocab_size
        own = {PAD: self.tokenizer.pad_token_id, EOS: self.tokenizer.eos_token_id, UNK: self.tokenizer.unk_token_id}
        if kind == "bare":
            own = {EOS: 0}
        new = [symbol for symbol in range(len(SPECIAL_TOKENS)) if own.get(symbol) is None]
        self.known = {**own, **{symbol: self.old + place for place, symbol in enumerate(new)}}
        self.never = [self.known[symbol] for symbol in new]
        self.never += [self.tokenizer.convert_tokens_to_ids(name) for name in CONTROLS.get(kind, [])]
        self.never += [row for row in range(self.old) if self.tokenizer.convert_ids_to_tokens(row) is None]
        library.resize_token_embeddings(self.old + len(new), mean_resizing=False)
        self.sep = self.known[SEP]
        for table in (library.get_input_embeddings(), library.get_output_embeddings()):
            table.weight.data[self.sep] = table.weight.data[self.tokenizer.eos_token_id]
        self.library: Any = library.to(dtype).eval()
        code = self.tokenizer.convert_tokens_to_ids
        eos = self.tokenizer.eos_token_id
        self.before, self.after, self.start = {
            "marian": ([], [eos], [self.tokenizer.pad_token_id]),
            "bart": ([code("<s>")], [eos], [eos, code("<s>")]),
            "nllb": ([code("eng_Latn")], [eos], [eos, code("deu_Latn")]),
        }.get(kind, ([], [eos], [self.tokenizer.pad_token_id]))

    def joint(self) -> tuple[Tensor, Tensor]:
        """Return the rows of `before src [SEP] mt after`, padded on the right, and which are real."""
        rows = []
        for src, mt in zip(SRC, MT):
            a = self.tokenizer(src, add_special_tokens=False)["input_ids"]
            b = self.tokenizer(text_target=mt, add_special_tokens=False)["input_ids"]
            rows.append([*self.before, *a, self.sep, *b, *self.after])
        width = max(map(len, rows))
        ids = torch.tensor([row + [self.tokenizer.pad_token_id] * (width - len(row)) for row in rows])
        return ids, torch.arange(width) < torch.tensor([[len(row)] for row in rows])

    def row_of(self, symbols: Tensor) -> Tensor:
        """Return the rows of symbols: the reserved ones by name, then the library's own in order, without those."""
        others = [row for row in range(self.old) if row not in self.known.values()]
        known = {**self.known, BOS: self.start[-1]}
        known |= {len(SPECIAL_TOKENS) + place: row for place, row in enumerate(others)}
        return torch.tensor([[known[int(symbol)] for symbol in row] for row in symbols])


UNTIED = {"t5 untied": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"}}


@pytest.fixture(params=[*KINDS, *UNTIED])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    with torch.random.fork_rng():
        torch.manual_seed(5)  # logits of some random weights differ by more than the penalty of what is never written
        return Case(request.param, tmp_path, torch.float64)


def test_the_forward_pass_is_that_of_the_library(case: Case) -> None:
    generator = torch.Generator().manual_seed(1)
    size = case.model.spec.vocabularies.target.size
    tokens = torch.randint(len(SPECIAL_TOKENS), size, (3, 5), generator=generator)
    tokens = torch.cat([torch.full((3, 1), BOS), tokens], 1)
    output, _ = case.model.decode(tokens, case.model.encode(case.batch))
    ids, mask = case.joint()
    lead = torch.tensor([case.start[:-1]] * 3, dtype=torch.long)
    theirs = case.library(
        input_ids=ids,
        attention_mask=mask.long(),
        decoder_input_ids=torch.cat([lead, case.row_of(tokens)], 1),
        output_attentions=True,
    )
    logits = theirs.logits[:, lead.size(1) :]
    rows = case.row_of(torch.tensor([range(size)]))[0]
    written = [s for s in range(size) if rows[s] not in case.never and s not in (BOS, STEP, SEP)]
    logits[..., case.never] = -torch.inf  # ours takes but e^-100 of them
    expected = logits.log_softmax(-1)[..., rows[written]]
    torch.testing.assert_close(output.log_probs[..., written], expected, rtol=0, atol=1e-8)
    others = sorted(set(range(size)) - set(written))
    assert {BOS, STEP, SEP} <= set(others)
    assert (output.log_probs[..., others] < -40).all()

    ((_, weights),) = output.attention.items()
    attention = theirs.cross_attentions[-1].mean(1)[:, lead.size(1) :]
    width = case.batch.streams["src"].ids.size(1)
    for row in range(3):
        src, mt = (int(case.batch.streams[name].lengths[row]) for name in ("src", "mt"))
        first = len(case.before)
        shares = attention[row, :, first : first + src + mt]
        shares = shares / shares.sum(-1, keepdim=True)
        torch.testing.assert_close(weights[row, :, :src], shares[:, :src], rtol=0, atol=1e-10)
        torch.testing.assert_close(weights[row, :, width : width + mt], shares[:, src:], rtol=0, atol=1e-10)
