"""Small checkpoints of the Transformers library, made on the spot: random weights, vocabularies of few words."""

import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

WORDS = [
    "ein", "zwei", "drei", "Haus", "Häuser", "geht", "gehen", "nicht", "über", ".", "the", "house", "goes", "two",
    "not", "EIN", "ZWEI", "DREI", "HAUS", "HÄUSER", "GEHT", "GEHEN", "NICHT", "ÜBER",
]  # fmt: skip
TEXTS = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(len(WORDS))]

SIZES: dict[str, Any] = {
    "d_model": 16, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 20, "max_position_embeddings": 200,
    "init_std": 0.3,
}  # fmt: skip


def marian(folder: Path, *codes: str) -> Path:
    """Write a Marian checkpoint: two SentencePiece models, which share a numbering; padding starts the decoder.

    `codes` are languages that it can write.
    """
    folder.mkdir()
    pieces: dict[str, int] = {"</s>": 0, "<unk>": 1}
    for name, size in (("source.spm", 70), ("target.spm", 80)):
        writer = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_writer=writer, vocab_size=size, hard_vocab_limit=False,
            minloglevel=2,
        )  # fmt: skip
        (folder / name).write_bytes(writer.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=writer.getvalue())
        for number in range(processor.get_piece_size()):
            if not (processor.is_control(number) or processor.is_unknown(number)):
                pieces.setdefault(processor.id_to_piece(number), len(pieces))
    for piece in (*codes, "<pad>"):
        pieces[piece] = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "MarianTokenizer"}', encoding="utf-8")
    settings = {"pad_token_id": len(pieces) - 1, "eos_token_id": 0, "decoder_start_token_id": len(pieces) - 1}
    config = transformers.MarianConfig(
        vocab_size=len(pieces), scale_embedding=True, forced_eos_token_id=0, **SIZES, **settings
    )
    return _save(transformers.MarianMTModel(config), None, folder)


def bart(folder: Path) -> Path:
    """Write a BART checkpoint: byte-level BPE; the decoder starts with the end of a text and then its beginning."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=[*specials, "<mask>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    config = transformers.BartConfig(
        vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2, **SIZES,
    )  # fmt: skip
    model = transformers.BartForConditionalGeneration(config)
    model.generation_config.forced_bos_token_id = 0
    return _save(model, wrapped, folder)


def nllb(folder: Path) -> Path:
    """Write a checkpoint of the NLLB kind: SentencePiece as JSON, a language code before each text."""
    tokenizer = _unigram(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([AddedToken(code, special=True) for code in ("deu_Latn", "eng_Latn")])
    code = tokenizer.token_to_id("eng_Latn")
    tokenizer.post_processor = processors.TemplateProcessing(
        "eng_Latn $A </s>", None, [("eng_Latn", code), ("</s>", 2)]
    )
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    config = transformers.M2M100Config(
        vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2, scale_embedding=True, **SIZES,
    )  # fmt: skip
    return _save(transformers.M2M100ForConditionalGeneration(config), wrapped, folder)


def t5(folder: Path, **settings: Any) -> Path:
    """Write a T5 checkpoint, its tables with rows that no piece has."""
    tokenizer = _unigram(["<pad>", "</s>", "<unk>"])
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", None, [("</s>", 1)])
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    config = transformers.T5Config(
        vocab_size=tokenizer.get_vocab_size() + 9, d_model=16, d_kv=5, d_ff=24, num_layers=2,
        num_heads=3, initializer_factor=3.0, decoder_start_token_id=0, **settings,
    )  # fmt: skip
    return _save(transformers.T5ForConditionalGeneration(config), wrapped, folder)


def bare(folder: Path) -> Path:
    """Write a checkpoint whose tokenizer has the end of a text alone, which is its padding and its start as well."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", None, [("</s>", 0)])
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="</s>", eos_token="</s>")
    config = transformers.T5Config(
        vocab_size=tokenizer.get_vocab_size(), d_model=16, d_kv=5, d_ff=24, num_layers=1, num_heads=3,
        initializer_factor=3.0, pad_token_id=0, eos_token_id=0, decoder_start_token_id=0,
    )  # fmt: skip
    return _save(transformers.T5ForConditionalGeneration(config), wrapped, folder)


KINDS: Mapping[str, Callable[[Path], Path]] = {"marian": marian, "bart": bart, "nllb": nllb, "t5": t5, "bare": bare}


CHAT = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content | trim }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)

_CAUSAL_SIZES: dict[str, Any] = {
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 6, "max_position_embeddings": 500, "initializer_range": 0.3,
}  # fmt: skip

CAUSAL_KINDS: Mapping[str, Mapping[str, Any]] = {
    "llama": {},
    "qwen2": {"use_sliding_window": True, "sliding_window": 20, "max_window_layers": 1, "hidden_size": 24},
    "qwen3": {"tie_word_embeddings": True},
    "gemma2": {"sliding_window": 20, "query_pre_attn_scalar": 6, "final_logit_softcapping": 5.0},
    "gemma3_text": {
        "sliding_window": 20, "query_pre_attn_scalar": 6, "layer_types": ["sliding_attention", "full_attention"],
    },
    "mistral": {"sliding_window": 40},
}  # fmt: skip
"""Kinds of causal language models with what is special in their settings."""


def causal(folder: Path, kind: str = "llama", *, chat: str | None = None, **settings: Any) -> Path:
    """Write a causal language model.

    Gemma and Mistral have BPE over characters with bytes for others, the rest byte-level BPE; `chat` is a template.
    """
    characters = kind.startswith(("gemma", "mistral"))
    specials = ["<pad>", "<s>", "</s>", "<|start|>", "<|end|>"]
    bytes_of = [f"<0x{byte:02X}>" for byte in range(256)] if characters else []
    alphabet = [] if characters else pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[*specials, *bytes_of], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer = Tokenizer(models.BPE())
    if characters:
        tokenizer.normalizer = normalizers.Replace(" ", "▁")
        tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
        tokenizer.train_from_iterator(TEXTS, trainer)
        values = json.loads(tokenizer.to_str())
        values["model"] |= {"byte_fallback": True, "unk_token": None}
        values["added_tokens"] = [one for one in values["added_tokens"] if one["content"] in specials]
        tokenizer = Tokenizer.from_str(json.dumps(values))
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", None, [("<s>", 1)])
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", chat_template=chat
    )
    config = transformers.AutoConfig.for_model(
        kind, vocab_size=tokenizer.get_vocab_size() + 3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        **{**_CAUSAL_SIZES, **CAUSAL_KINDS.get(kind, {}), **settings},
    )  # fmt: skip
    return _save(transformers.AutoModelForCausalLM.from_config(config), wrapped, folder)


def _unigram(specials: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=100, special_tokens=list(specials), unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def _save(model: Any, tokenizer: Any, folder: Path) -> Path:
    """Write the checkpoint, every weight of it scattered: what is fresh as zero would hide what goes wrong with it."""
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(5)
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1 if parameter.requires_grad else 0.0)
        bias = getattr(model, "final_logits_bias", None)
        if bias is not None:
            bias.copy_(torch.randn_like(bias))
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder
