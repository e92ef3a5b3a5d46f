"""M-CGRU (Junczys-Dowmunt and Grundkiewicz 2017, 3 and 4.3): two encoders, a doubly-attentive conditional GRU."""

from typing import ClassVar

from postedit.models.bases.conditional_gru import ConditionalGRUModel


class MCGRU(ConditionalGRUModel):
    """p(pe | mt, src) with soft attention over both inputs at every step.

    s0 = tanh(W_init [mean h_mt; mean h_src]); then for each token s' = GRU1(s, E[y]), c = [ATT(C_mt, s');
    ATT(C_src, s')], s = GRU2(s', c), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t) (eq. 5).

    What the paper leaves open is said in `ConditionalGRUModel`.
    """

    inputs: ClassVar = ("mt", "src")
    soft: ClassVar = ("mt", "src")
