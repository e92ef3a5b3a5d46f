"""M-CGRU-HARD (Junczys-Dowmunt and Grundkiewicz 2017, 4.4): hard attention over mt, soft attention over mt and src."""

from typing import ClassVar

from postedit.models.bases.conditional_gru import ConditionalGRUModel


class MCGRUHard(ConditionalGRUModel):
    """p(pe with STEPs | mt, src) with one position of mt in view, and soft attention over both inputs.

    s0 = tanh(W_init [mean h_mt; mean h_src]); then for each token a = a + [y is STEP], s' = GRU1(s, [E[y]; h_mt,a]),
    c = [ATT(C_mt, s'); ATT(C_src, s')], s = GRU2(s', c), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t). The
    grammar of STEP and EOS is that of `nn.hard_attention`.

    What the paper leaves open is said in `ConditionalGRUModel`.
    """

    inputs: ClassVar = ("mt", "src")
    soft: ClassVar = ("mt", "src")
    hard: ClassVar = True
    writes: ClassVar = "steps"
