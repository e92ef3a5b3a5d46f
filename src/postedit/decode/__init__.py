"""Search, over the model interface only: greedy, beam, sampling, drafts from mt, ensembles, and forced outputs."""

from postedit.decode.beam import beam_search
from postedit.decode.draft import Drafted, DraftSearch, draft_decode
from postedit.decode.ensemble import Ensemble
from postedit.decode.forced import force, force_lists
from postedit.decode.greedy import greedy
from postedit.decode.guidance import Guidance
from postedit.decode.hypothesis import Hypothesis
from postedit.decode.limits import length_limits
from postedit.decode.sample import Sampling, sample
from postedit.decode.settings import SearchSettings

__all__ = [
    "DraftSearch",
    "Drafted",
    "Ensemble",
    "Guidance",
    "Hypothesis",
    "Sampling",
    "SearchSettings",
    "beam_search",
    "draft_decode",
    "force",
    "force_lists",
    "greedy",
    "length_limits",
    "sample",
]
