"""Search over the model interface: greedy, beam, sampling, mt as draft, ensembles and forced scoring.

Every search raises a ModelFolderError if the model assigns zero probability to every allowed token.
"""

from postedit.core.search_config import SearchConfig as SearchConfig
from postedit.search.beam import beam_search as beam_search
from postedit.search.draft import DraftGroup as DraftGroup
from postedit.search.draft import DraftSearch as DraftSearch
from postedit.search.draft import draft_decode as draft_decode
from postedit.search.ensemble import Ensemble as Ensemble
from postedit.search.forced import force as force
from postedit.search.forced import force_lists as force_lists
from postedit.search.greedy import Sampling as Sampling
from postedit.search.greedy import greedy as greedy
from postedit.search.greedy import sample as sample
from postedit.search.guidance import Guidance as Guidance
from postedit.search.hypothesis import Hypothesis as Hypothesis
from postedit.search.rules import length_limits as length_limits
