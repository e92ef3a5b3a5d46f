"""Serve, in a process that a test may kill, with an editor that replaces the words it was taught to replace."""

import sys
from pathlib import Path

from postedit.serve.app import create_app
from postedit.serve.settings import parse_settings
from postedit.serve.web_server import run_service

sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))


def main(data: Path, port: int) -> None:
    """Serve until a signal ends it."""
    from serve_tools import WordEngine

    from postedit.serve import web_server
    from postedit.serve.service_logs import set_up_logs

    values = {"models": {"words": {"path": "none"}}, "data": str(data), "port": port, "log": {"level": "warning"}}
    config = parse_settings(values, "test")
    set_up_logs(config.log)
    engine = WordEngine(config)

    def create(settings: object) -> object:
        app = create_app(config, engine)
        engine.store = app.state.service.store
        return app

    web_server.create_app = create  # type: ignore[assignment]
    run_service(config, lambda address: print(address, flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
