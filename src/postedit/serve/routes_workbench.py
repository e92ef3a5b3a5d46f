"""The workbench pages: static files, served from memory, that load nothing from other hosts."""

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from postedit.explain.document import asset
from postedit.serve.http_errors import HttpError

POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'; require-trusted-types-for 'script'"
)
"""Content security policy: pages load from and connect to this service only, without inline code, in no frame."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_STYLES: Final = ("style/page.css", "style/workbench.css", "style/editor.css")
_TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
_LEAST_COMPRESSED: Final = 500  # bytes; below, compression saves nothing
_GZIP: Final = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))", re.IGNORECASE)  # a weight of 0 refuses it

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent: its bytes, plain and gzipped, its media type and its ETag."""

    content: bytes
    compressed: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "StaticFile":
        """Return a file ready to be sent; its media type follows from the extension of its name."""
        ending = f".{name.rpartition('.')[2]}"
        media_type = _TYPES.get(ending) or mimetypes.guess_type(name)[0] or "text/plain; charset=utf-8"
        digest = hashlib.sha256(content).hexdigest()[:32]
        return cls(content, gzip.compress(content, 9, mtime=0), media_type, f'"{digest}"')

    def response(self, request: Request, cache_control: str) -> Response:
        """Return the response to a request: the file, or 304 if the browser has it already."""
        headers = {**HEADERS, "Cache-Control": cache_control, "ETag": self.etag, "Vary": "Accept-Encoding"}
        known = request.headers.get("if-none-match", "")
        if self.etag in known or known.strip() == "*":
            return Response(status_code=304, headers=headers)
        content = self.content
        if len(content) >= _LEAST_COMPRESSED and _GZIP.search(request.headers.get("accept-encoding", "")):
            content = self.compressed
            headers["Content-Encoding"] = "gzip"
        return Response(content, headers=headers, media_type=self.media_type)


@dataclass(frozen=True, slots=True)
class Pages:
    """All workbench files. Their URLs contain `version`, so that browsers may cache them for ever."""

    version: str
    index: StaticFile
    assets: dict[str, StaticFile]


@cache
def pages() -> Pages:
    """Return the workbench files, which are read once."""
    contents = dict(_read(files("postedit.serve").joinpath("workbench")))
    contents["style/page.css"] = asset("page.css").encode()
    template = contents.pop("index.html").decode()
    everything = b"\0".join(part for name in sorted(contents) for part in (name.encode(), contents[name]))
    version = hashlib.sha256(everything).hexdigest()[:16]
    assets = {name: StaticFile.of(name, content) for name, content in contents.items()}
    return Pages(version, StaticFile.of("index.html", _index(template, version, contents).encode()), assets)


def _read(folder: Traversable, prefix: str = "") -> Iterable[tuple[str, bytes]]:
    """Yield the relative path and the content of each file in a folder, recursively."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry.read_bytes()


def _index(template: str, version: str, names: Iterable[str]) -> str:
    """Return the page with links to all styles and modules, so that browsers load them in parallel."""
    base = f"/assets/{version}"
    modules = sorted(name for name in names if name.endswith(".js"))
    links = {
        "<!-- styles -->": [f'<link rel="stylesheet" href="{base}/{escape(name)}">' for name in _STYLES],
        "<!-- modules -->": [f'<link rel="modulepreload" href="{base}/{escape(name)}">' for name in modules],
    }
    for mark, lines in links.items():
        template = template.replace(mark, "\n".join(lines))
    return template.replace("{assets}", base)


@router.get("/")
async def workbench(request: Request) -> Response:
    """Return the workbench page, which loads data, and asks for a sign-in if one is needed, by itself."""
    return pages().index.response(request, "no-cache")


@router.get("/assets/{version}/{name:path}")
async def workbench_asset(version: str, name: str, request: Request) -> Response:
    """Return a style sheet, a module or an image of the workbench.

    Raises:
        HttpError: 404 if there is no such file, or `version` is not the present one.
    """
    found = pages().assets.get(name) if version == pages().version else None
    if found is None:
        raise HttpError(404, "the workbench has no such file; load the page again")
    return found.response(request, "public, max-age=31536000, immutable")
