"""CGRU (Junczys-Dowmunt and Grundkiewicz 2017, 3): an encoder of mt and a conditional GRU with soft attention."""

from typing import ClassVar

from postedit.models.bases.conditional_gru import ConditionalGRUModel


class CGRU(ConditionalGRUModel):
    """p(pe | mt) with soft attention.

    s0 = tanh(W_init mean h); then for each token s' = GRU1(s, E[y]), c = ATT(C, s'), s = GRU2(s', c) (eq. 2),
    t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t).

    What the paper leaves open is said in `ConditionalGRUModel`.
    """

    inputs: ClassVar = ("mt",)
    soft: ClassVar = ("mt",)
