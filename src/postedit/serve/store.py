"""All data of the service: projects, files, segments, decisions, jobs, people, and the memory of corrections.

All methods are synchronous; routes call them in threads.
"""

import sqlalchemy as sql

from postedit.serve.correction_matches import CorrectionMatches
from postedit.serve.schema import projects
from postedit.serve.store_base import Database
from postedit.serve.store_decisions import Decisions
from postedit.serve.store_exports import Exports
from postedit.serve.store_files import Files
from postedit.serve.store_jobs import Jobs
from postedit.serve.store_people import People
from postedit.serve.store_progress import Progress
from postedit.serve.store_projects import Projects
from postedit.serve.store_proposals import Proposals
from postedit.serve.store_segments import GLOSSARIES, Segments


class Store:
    """The store of a service, divided into parts that share one database.

    `database` provides transactions and the events of projects. `memory` has the corrections of all projects, and
    `matches` finds those similar to a segment.
    `projects` and `people` are settings and rights; `files` are the bytes of files, and `segments` what is read from
    them; `proposals` come from the model, and `decisions` from people; `jobs` is work that waits; `exports` and
    `progress` show the outcome.

    All parts can be used from any thread, and by several processes at the same time.

    Args:
        where: path of a SQLite file, or URL of a PostgreSQL database.

    Raises:
        DataError: if the database belongs to another program, or to a newer postedit.
        OutputError: if the database cannot be used.
    """

    def __init__(self, where: str) -> None:
        self.database = Database(where)
        self.memory = self.database.memory
        self.matches = CorrectionMatches(self.memory)
        self.database.on_deletion.append(self._forget)
        self._seen = self._present()
        self.jobs = Jobs(self.database)
        self.projects = Projects(self.database, self.jobs)
        self.progress = Progress(self.database)
        self.people = People(self.database)
        self.files = Files(self.database)
        self.exports = Exports(self.database, self.files, self.projects)
        self.segments = Segments(self.database)
        self.decisions = Decisions(self.database, self.files, self.jobs)
        self.proposals = Proposals(self.database, self.files)

    def forget_deleted(self) -> bool:
        """Drop cached texts if any process has deleted something since the last call; return whether one has.

        Proposals that come from deleted corrections are renewed.

        Raises:
            OutputError: if the database cannot be read.
        """
        (edition, present), (seen_edition, seen) = self._present(), self._seen
        is_less = edition != seen_edition or not seen <= present
        if is_less:
            self._forget()
        if edition != seen_edition:
            self.projects.forget_deleted_corrections()
        self._seen = edition, present
        return is_less

    def _forget(self) -> None:
        self.matches.drop_deleted()
        GLOSSARIES.clear()

    def _present(self) -> tuple[int, frozenset[str]]:
        """Return the edition of the correction memory, and the ids of all projects."""
        with self.database.read() as connection:
            found = frozenset(connection.execute(sql.select(projects.c.id)).scalars())
        return self.memory.position.edition, found

    def close(self) -> None:
        """Close all connections."""
        self.matches.close()
        self.database.close()
