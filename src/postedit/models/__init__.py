"""Every architecture, by the name that recipes use. A new one is a file in this folder and a line here."""

from postedit.core.registry import Architecture, Registry
from postedit.models.attention_nmt import AttentionNMT
from postedit.models.double_attention import DoubleAttention
from postedit.models.m_cgru import MCGRU
from postedit.models.transference import Transference

_JUNCZYS_2017 = "Junczys-Dowmunt and Grundkiewicz 2017"
_LI_2017 = "Li et al. 2017"
_PAL_2020 = "Pal et al. 2020"

ARCHITECTURES = Registry(
    [
        Architecture("attention-nmt", AttentionNMT, f"{_LI_2017}, III", "translation: bi-GRU, attention, GRU"),
        Architecture(
            "double-attention",
            DoubleAttention,
            f"{_LI_2017}, IV",
            "src and draft: two bi-GRUs, two attentions, one GRU",
        ),
        Architecture("m-cgru", MCGRU, f"{_JUNCZYS_2017}, 4.3", "two bi-GRU encoders, doubly-attentive conditional GRU"),
        Architecture(
            "transference", Transference, f"{_PAL_2020}, 3", "Transformer: src encoder, mt encoder over it, decoder"
        ),
    ]
)
