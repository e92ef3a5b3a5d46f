"""postedit: neural automatic post-editing.

`PostEditor` corrects machine translation with a trained model; it is imported on first use, so that `import postedit`
stays fast.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postedit.core.editor import PostEdit
    from postedit.editing.post_editor import PostEditor

__version__ = "0.1.0"
__all__ = ["PostEdit", "PostEditor", "__version__"]


def __dir__() -> list[str]:
    """Return all names, so that completion also offers those that are not imported yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import the facade on first use."""
    if name == "PostEdit":
        from postedit.core.editor import PostEdit

        return PostEdit
    if name == "PostEditor":
        from postedit.editing.post_editor import PostEditor

        return PostEditor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
