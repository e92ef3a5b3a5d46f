import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi")
from postedit.serve.service import Service


def service_with(check: Any) -> Service:
    parts: Any = SimpleNamespace(database=SimpleNamespace(check=check))
    return Service(parts, parts, parts, parts, parts, parts, asyncio.Event())


def test_answer_of_the_database_counts_though_it_is_asked_anew_at_once() -> None:
    slow, asked = threading.Event(), iter(range(3))

    def check() -> None:
        if next(asked):
            slow.wait(300)

    async def ask() -> tuple[str, str]:
        service = service_with(check)

        async def twice() -> str:
            await service.database_state(300)
            return await service.database_state(0.05)

        first, second = await asyncio.gather(twice(), service.database_state(300))
        slow.set()
        return first, second

    assert asyncio.run(ask()) == ("away", "ready")
