"""`causal` against the library's own forward pass and greedy search, its prompts written out by hand."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from checkpoints import CAUSAL_KINDS, CHAT, causal

from postedit.core.config import load_config
from postedit.core.special_tokens import BOS, EOS, SPECIAL_TOKENS
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.models.causal import Causal, CausalConfig
from postedit.search import greedy
from postedit.search.draft import DraftGroup, DraftSearch
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import TextProcessor

SRC = ["the house goes", "two house", "not the two house goes ."]
MT = ["ein Haus gehen", "drei Häuser nicht über zwei", "nicht"]
TEMPLATE = "Source:\n{src}\nMT:\n{mt}\nPE:\n"


class Case:
    """Our model of a checkpoint, the library's, and the prompts as the library would be given them."""

    def __init__(self, kind: str, folder: Path, chat: bool) -> None:
        path = str(causal(folder / "checkpoint", kind, chat=CHAT if chat else None))
        config = load_config(CausalConfig, {"checkpoint": path, "prompt": TEMPLATE}, "recipe")
        text = TextConfig(vocabulary=VocabularyConfig(checkpoint=path))
        self.processor = TextProcessor.fit(text, lambda: iter(()))
        self.model = Causal(config, self.processor.vocabularies)
        self.model.load_initial_weights()
        self.model.to(torch.float64).eval().requires_grad_(False)
        ids = {side: self.processor.encode_batch(side, texts) for side, texts in (("src", SRC), ("mt", MT))}
        self.batch: Batch = collate(ids, ["src", "mt"])
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        library: Any = transformers.AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager")
        self.library = library.to(torch.float64).eval()
        self.end = self.tokenizer.convert_tokens_to_ids("<|end|>" if chat else "</s>")
        before = "<|start|>user\n" if chat else "<s>"
        after = "<|end|>\n<|start|>assistant\n" if chat else ""
        # A user's message is trimmed by the template.
        self.parts = [f"{before}Source:\n", "\nMT:\n", f"\nPE:{after}" if chat else "\nPE:\n"]

    def rows(self, text: str) -> list[int]:
        """Return the rows of a text as the library divides it."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def prompts(self) -> list[list[int]]:
        """Return the rows of the prompts."""
        first, second, third = map(self.rows, self.parts)
        return [first + self.rows(src) + second + self.rows(mt) + third for src, mt in zip(SRC, MT)]

    def tokens(self, rows: list[int]) -> list[int]:
        """Return the tokens of rows of text: special tokens first, then the others in order."""
        own = {self.tokenizer.pad_token_id, self.end}
        others = [row for row in range(self.library.config.vocab_size) if row not in own]
        return [EOS if row == self.end else len(SPECIAL_TOKENS) + others.index(row) for row in rows]


@pytest.fixture(
    params=[
        pytest.param(
            (kind, chat), marks=() if (kind, chat) == ("gemma2", True) else pytest.mark.slow, id=f"{kind}-{chat}"
        )
        for kind in CAUSAL_KINDS
        for chat in (True, False)
    ]
)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return Case(*request.param[:1], tmp_path, request.param[1])


def test_the_forward_pass_is_that_of_the_library(case: Case) -> None:
    written = case.rows("ein Haus geht nicht")
    tokens = torch.tensor([[BOS, *case.tokens(written)]] * 3)
    output, _ = case.model.decode(tokens, case.model.encode(case.batch))
    controls = [1, 3, 4] if case.end == 2 else [1, 2, 3]
    fillers = list(range(case.library.config.vocab_size - 3, case.library.config.vocab_size))
    words = [row for row in range(1, case.library.config.vocab_size) if row not in (*controls, *fillers)]
    ((_, attention),) = output.attention.items()
    for number, prompt in enumerate(case.prompts()):
        theirs = case.library(input_ids=torch.tensor([prompt + written]), output_attentions=True)
        logits = theirs.logits[0, len(prompt) - 1 :].clone()
        logits[:, [0, *controls, *fillers]] -= 100.0
        expected = logits.log_softmax(-1)[:, words]
        ours = output.log_probs[number][:, case.tokens(words)]
        # Norms of the library round to single precision.
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-5)
        kinds = getattr(case.library.config, "layer_types", None) or ["full_attention"] * 2
        layer = max(i for i, kind in enumerate(kinds) if kind == "full_attention")
        weights = theirs.attentions[layer][0].mean(0)[len(prompt) - 1 :]
        src, mt = (len(case.rows(texts[number])) for texts in (SRC, MT))
        first = len(case.rows(case.parts[0]))
        second = first + src + len(case.rows(case.parts[1]))
        # The end of a text is the token after it.
        texts = torch.cat([weights[:, first : first + src + 1], weights[:, second : second + mt + 1]], 1)
        real = torch.cat([case.batch.streams[name].mask[number] for name in ("src", "mt")])
        shares = texts / texts.sum(-1, keepdim=True)
        torch.testing.assert_close(attention[number][:, real], shares, rtol=0, atol=1e-5)


def test_greedy_search_writes_what_the_library_generates(case: Case) -> None:
    limits = torch.full((3,), 12)
    controls = [1, 3, 4] if case.end == 2 else [1, 2, 3]
    fillers = list(range(case.library.config.vocab_size - 3, case.library.config.vocab_size))
    found = greedy(case.model, case.batch, limits)
    mt = [ids[mask][:-1].tolist() for ids, mask in zip(case.batch.streams["mt"].ids, case.batch.streams["mt"].mask)]
    search = DraftSearch(case.model, 3)
    (drafted,) = search([DraftGroup(case.batch, mt, limits)])
    assert [one.tokens for one in drafted] == [one.tokens for one in found]
    for prompt, hypothesis in zip(case.prompts(), found):
        theirs = case.library.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            max_new_tokens=12,
            do_sample=False,
            eos_token_id=case.end,
            pad_token_id=0,
            suppress_tokens=[0, *controls, *fillers],
        )[0, len(prompt) :].tolist()
        expected = tuple(case.tokens([row for row in theirs if row != case.end]))
        assert hypothesis.tokens == expected[: len(hypothesis.tokens)]
        assert len(hypothesis.tokens) == len(expected) or hypothesis.hit_limit
