"""Language tags, such as "pt-BR", reduced to their language, without script and region."""

import re


def base_language(tag: str) -> str:
    """Return the language of a tag in lower case: "pt" for "pt-BR"."""
    return re.split("[-_]", tag.strip(), maxsplit=1)[0].lower()


def same_language(first: str, second: str) -> bool:
    """Return whether two tags have the same language, whatever their script and region."""
    return base_language(first) == base_language(second)
