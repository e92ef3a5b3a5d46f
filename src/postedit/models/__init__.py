"""Every architecture, by the name that recipes use. A new one is a file in this folder and a line here."""

from postedit.core.registry import Architecture, Registry
from postedit.models.m_cgru import MCGRU
from postedit.models.transference import Transference

_JUNCZYS_2017 = "Junczys-Dowmunt and Grundkiewicz 2017"
_PAL_2020 = "Pal et al. 2020"

ARCHITECTURES = Registry(
    [
        Architecture("m-cgru", MCGRU, f"{_JUNCZYS_2017}, 4.3", "two bi-GRU encoders, doubly-attentive conditional GRU"),
        Architecture(
            "transference", Transference, f"{_PAL_2020}, 3", "Transformer: src encoder, mt encoder over it, decoder"
        ),
    ]
)
