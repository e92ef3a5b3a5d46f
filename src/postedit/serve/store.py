"""All that the service keeps: projects, files, segments, decisions, jobs, people, and the memory of corrections.

Everything here is synchronous: the routes call it in threads.
"""

from postedit.serve.correction_matches import CorrectionMatches
from postedit.serve.store_base import Database
from postedit.serve.store_decisions import Decisions
from postedit.serve.store_exports import Exports
from postedit.serve.store_files import Files
from postedit.serve.store_jobs import Jobs
from postedit.serve.store_people import People
from postedit.serve.store_progress import Progress
from postedit.serve.store_projects import Projects
from postedit.serve.store_proposals import Proposals
from postedit.serve.store_segments import Segments


class Store:
    """The parts of a database.

    `database` is what the others share: transactions, and events of projects. `memory` has what all projects learnt,
    and `matches` finds what in it is like a segment.
    `projects` and `people` are settings and rights; `files` are bytes, and `segments` what is read of them; `proposals`
    come from the model, and `decisions` from people; `jobs` is work that waits; `exports` and `progress` show the
    outcome.

    Each can be used in any thread, and by several processes at a time.

    Args:
        where: a file of SQLite, or the URL of a database of PostgreSQL.

    Raises:
        DataError: if it is a file of another program, or of a newer postedit.
        OutputError: if it cannot be used.
    """

    def __init__(self, where: str) -> None:
        self.database = Database(where)
        self.memory = self.database.memory
        self.matches = CorrectionMatches(self.memory)
        self.jobs = Jobs(self.database)
        self.projects = Projects(self.database, self.jobs)
        self.progress = Progress(self.database)
        self.people = People(self.database)
        self.files = Files(self.database)
        self.exports = Exports(self.database, self.files, self.projects)
        self.segments = Segments(self.database)
        self.decisions = Decisions(self.database, self.files, self.jobs)
        self.proposals = Proposals(self.database, self.files)

    def close(self) -> None:
        """Close all connections."""
        self.database.close()
