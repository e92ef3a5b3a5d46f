import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi")
from postedit.serve.service import LongWork, Service


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


def test_many_exports_of_one_client_do_not_keep_others_waiting() -> None:
    release, begun = threading.Event(), threading.Semaphore(0)

    def export() -> None:
        begun.release()
        release.wait(300)

    async def ask() -> None:
        work = LongWork()
        exports = [asyncio.create_task(work.run(export, "anna")) for _ in range(10)]
        try:
            await asyncio.to_thread(begun.acquire)
            await asyncio.wait_for(work.run(lambda: None, "ben"), 30)
            assert not any(one.done() for one in exports)
        finally:
            release.set()
        await asyncio.gather(*exports)
        assert not work.of_client

    asyncio.run(ask())
