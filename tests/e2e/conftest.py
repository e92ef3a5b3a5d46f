"""A service, a browser and a page for tests of the workbench."""

from workbench_service import chromium, page, project, service  # noqa: F401 (fixtures)
