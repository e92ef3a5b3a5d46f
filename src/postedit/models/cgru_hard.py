"""CGRU-HARD (Junczys-Dowmunt and Grundkiewicz 2017, 4.2): hard and soft attention over mt together."""

from typing import ClassVar

from postedit.models.bases.conditional_gru import ConditionalGRUModel


class CGRUHard(ConditionalGRUModel):
    """p(pe with STEPs | mt) with one position of mt in view, and soft attention over all of it.

    s0 = tanh(W_init mean h); then for each token a = a + [y is STEP], s' = GRU1(s, [E[y]; h_a]), c = ATT(C, s'),
    s = GRU2(s', c) (eq. 4), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t). The grammar of STEP and EOS is that of
    `nn.hard_attention`.

    The deep output reads what it reads in CGRU: the paper says that the rest of the model is unchanged. What else it
    leaves open is said in `ConditionalGRUModel`.
    """

    inputs: ClassVar = ("mt",)
    soft: ClassVar = ("mt",)
    hard: ClassVar = True
    writes: ClassVar = "steps"
