"""All architectures, by the name that recipes use; to add one, write a module in this folder and an entry here."""

from postedit.core.registry import Architecture, Registry
from postedit.models.causal import Causal
from postedit.models.concat_encoders import ConcatEncoders, JointEncoder
from postedit.models.conditional_gru import (
    CGRU,
    MCGRU,
    CGRUHard,
    CharacterLevel,
    GRUHard,
    MCGRUHard,
    SymmetricAttention,
)
from postedit.models.copycat import Copycat, CopycatSrc, CopycatTrg, CopyTransformer
from postedit.models.cross_encoder import CrossEncoder
from postedit.models.draft_and_refine import AttentionNMT, DoubleAttention
from postedit.models.edit_operations import ChainedEditOperations, EditOperations
from postedit.models.pointer_generator import PointerGenerator
from postedit.models.pretrained import Pretrained
from postedit.models.shared_attention import FlatAttention, MergedAttention, SharedAttention
from postedit.models.transference import Transference
from postedit.models.transformer import DualTransformer, Transformer

_IVE_2019 = "Ive et al. 2019"
_JAUREGI_2018 = "Jauregi Unanue et al. 2018"
_JUNCZYS_2017 = "Junczys-Dowmunt and Grundkiewicz 2017"
_LI_2017 = "Li et al. 2017"
_PAL_2020 = "Pal et al. 2020"

ARCHITECTURES = Registry(
    [
        Architecture(
            "shared-attention", SharedAttention, f"{_JAUREGI_2018}, 3", "two bi-LSTM encoders under one attention, LSTM"
        ),
        Architecture(
            "flat-attention",
            FlatAttention,
            f"Libovický and Helcl 2017; {_JAUREGI_2018}, 2.1",
            "as shared-attention, with a projection for each text",
        ),
        Architecture(
            "merged-attention",
            MergedAttention,
            f"Chatterjee et al. 2017; {_JAUREGI_2018}, 2.1",
            "as shared-attention, with an attention for each text, merged by a layer",
        ),
        Architecture("attention-nmt", AttentionNMT, f"{_LI_2017}, III", "translation: bi-GRU, attention, GRU"),
        Architecture(
            "double-attention",
            DoubleAttention,
            f"{_LI_2017}, IV",
            "src and draft: two bi-GRUs, two attentions, one GRU",
        ),
        Architecture("cgru", CGRU, f"{_JUNCZYS_2017}, 3", "bi-GRU encoder of mt, conditional GRU"),
        Architecture("gru-hard", GRUHard, f"{_JUNCZYS_2017}, 4.1", "hard monotonic attention to mt, GRU"),
        Architecture("cgru-hard", CGRUHard, f"{_JUNCZYS_2017}, 4.2", "hard and soft attention to mt, conditional GRU"),
        Architecture("m-cgru", MCGRU, f"{_JUNCZYS_2017}, 4.3", "two bi-GRU encoders, doubly-attentive conditional GRU"),
        Architecture(
            "m-cgru-hard", MCGRUHard, f"{_JUNCZYS_2017}, 4.4", "m-cgru with hard monotonic attention to mt besides"
        ),
        Architecture(
            "transformer",
            Transformer,
            f"{_PAL_2020}, 4",
            "Transformer with one encoder, of src, mt, or both as one text",
        ),
        Architecture(
            "dual-transformer",
            DualTransformer,
            f"Junczys-Dowmunt and Grundkiewicz 2018; {_PAL_2020}, 2",
            "Transformer: two encoders, which may share weights; decoder layers attend to mt, then src",
        ),
        Architecture(
            "concat-encoders",
            ConcatEncoders,
            f"Tebbifakhr et al. 2018; {_PAL_2020}, 3",
            "Transformer: two encoders, whose outputs are one memory",
        ),
        Architecture(
            "joint-encoder",
            JointEncoder,
            f"Pal et al. 2018; {_PAL_2020}, 2",
            "Transformer: encoders of src, of mt, and of both encoded texts",
        ),
        Architecture(
            "cross-encoder",
            CrossEncoder,
            f"Shin and Lee 2018; {_PAL_2020}, 2",
            "Transformer: in the decoder mt attends to src, pe to src, then pe to that view of mt",
        ),
        Architecture(
            "transference", Transference, f"{_PAL_2020}, 3", "Transformer: src encoder, mt encoder over it, decoder"
        ),
        Architecture(
            "copycat", Copycat, f"{_IVE_2019}, 3.2", "Transformer that generates, or copies from its one input"
        ),
        Architecture(
            "copycat-trg", CopycatTrg, f"{_IVE_2019}, 3.3", "dual-source Transformer that generates, or copies from mt"
        ),
        Architecture(
            "copycat-src",
            CopycatSrc,
            f"{_IVE_2019}, 3.3",
            "dual-source Transformer that generates, or copies from mt or from src",
        ),
        Architecture(
            "pointer-generator",
            PointerGenerator,
            "See et al. 2017",
            "bi-LSTM encoder of mt, attention with coverage, LSTM that generates, or copies from mt",
        ),
        Architecture(
            "copy-transformer",
            CopyTransformer,
            "Gehrmann et al. 2018",
            "Transformer that generates, or copies from its one input by a head of attention",
        ),
        Architecture(
            "character-level",
            CharacterLevel,
            "Varis and Bojar 2017",
            "two pooling encoders of characters or bytes, doubly-attentive conditional GRU",
        ),
        Architecture(
            "symmetric-attention",
            SymmetricAttention,
            "Pal et al. 2017",
            "cgru, trained together with one from pe to mt so that their attentions agree",
        ),
        Architecture(
            "edit-operations",
            EditOperations,
            "Bérard et al. 2017",
            "bi-LSTM encoder of mt, LSTM that keeps, deletes or inserts at one position of mt after the other",
        ),
        Architecture(
            "edit-operations-src",
            ChainedEditOperations,
            "Bérard et al. 2017",
            "edit-operations, chained with a small translator from src to mt, whose contexts it reads",
        ),
        Architecture(
            "pretrained",
            Pretrained,
            "Wolf et al. 2020",
            "Hugging Face checkpoint (Marian, mBART, NLLB, T5 kinds) that reads src and mt as one text",
        ),
        Architecture(
            "causal",
            Causal,
            "Wolf et al. 2020",
            "Hugging Face language model (Llama, Qwen, Gemma, Mistral, EuroLLM kinds) that continues a prompt by pe",
        ),
    ]
)
