"""Search, over the model interface only: greedy, beam, drafting from mt, and ensembles of models."""

from postedit.decode.beam import beam_search
from postedit.decode.draft import Drafted, DraftSearch, draft_decode
from postedit.decode.ensemble import Ensemble
from postedit.decode.greedy import greedy
from postedit.decode.hypothesis import Hypothesis
from postedit.decode.limits import length_limits

__all__ = ["DraftSearch", "Drafted", "Ensemble", "Hypothesis", "beam_search", "draft_decode", "greedy", "length_limits"]
