"""GRU-HARD (Junczys-Dowmunt and Grundkiewicz 2017, 4.1): hard monotonic attention over mt, and no other."""

from typing import ClassVar

from postedit.models.bases.conditional_gru import ConditionalGRUModel


class GRUHard(ConditionalGRUModel):
    """p(pe with STEPs | mt) with one position of mt in view, which each STEP moves on by one.

    s0 = tanh(W_init mean h); then for each token a = a + [y is STEP], s = GRU(s, [E[y]; h_a]) (eq. 3),
    t = tanh(W1 s + W2 E[y] + W3 h_a), p = softmax(W_o t). The grammar of STEP and EOS is that of `nn.hard_attention`.

    The paper's position counts from 1 and here from 0. What it leaves open is said in `ConditionalGRUModel`.
    """

    inputs: ClassVar = ("mt",)
    soft: ClassVar = ()
    hard: ClassVar = True
    writes: ClassVar = "steps"
