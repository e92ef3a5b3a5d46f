"""Search over the model interface: greedy, beam, sampling, mt as draft, ensembles and forced decoding."""

from postedit.core.search_config import SearchConfig
from postedit.search.beam import beam_search
from postedit.search.draft import Drafted, DraftSearch, draft_decode
from postedit.search.ensemble import Ensemble
from postedit.search.forced import force, force_lists
from postedit.search.greedy import greedy
from postedit.search.guidance import Guidance
from postedit.search.hypothesis import Hypothesis
from postedit.search.limits import length_limits
from postedit.search.sampling import Sampling, sample

__all__ = [
    "DraftSearch",
    "Drafted",
    "Ensemble",
    "Guidance",
    "Hypothesis",
    "Sampling",
    "SearchConfig",
    "beam_search",
    "draft_decode",
    "force",
    "force_lists",
    "greedy",
    "length_limits",
    "sample",
]
