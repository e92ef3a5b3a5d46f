"""Serve, in a process that a test may kill, with an editor that replaces the words it was taught to replace."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher

from postedit.serve import store_people
from postedit.serve.app import create_app
from postedit.serve.settings import parse_settings
from postedit.serve.store import Store
from postedit.serve.web_server import run_service

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))


PASSWORD = "a long password"


def main(data: Path, port: int, people: Sequence[str]) -> None:
    """Serve until a signal ends it; with `people`, the first of whom is administrator, they have to sign in."""
    from serve_tools import WordEngine

    from postedit.serve import web_server
    from postedit.serve.service_logs import set_up_logs

    values: dict[str, Any] = {
        "models": {"words": {"path": "none"}},
        "data": str(data),
        "port": port,
        "log": {"level": "warning"},
    }
    values["auth"] = {"required": bool(people)}
    config = parse_settings(values, "test")
    set_up_logs(config.log)
    if people:
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)  # what hashes cost is no matter of pages
        store_people._HASHER, store_people._NO_HASH = cheap, cheap.hash("")
        store = Store(config.database_place)
        for row, name in enumerate(people):
            store.people.create_user(name, PASSWORD, admin=row == 0)
        store.close()
    engine = WordEngine(config)

    def create(settings: object) -> object:
        app = create_app(config, engine)
        engine.store = app.state.service.store
        return app

    assert "torch" not in sys.modules, "only model processes need it, which takes seconds to import"
    web_server.create_app = create  # type: ignore[assignment]
    run_service(config, lambda address: print(address, flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
