"""Tags of languages, such as "pt-BR": their language, without script and region."""

import re


def base_language(tag: str) -> str:
    """Return the language of a tag in small letters, as "pt" of "pt-BR"."""
    return re.split("[-_]", tag.strip(), maxsplit=1)[0].lower()


def same_language(first: str, second: str) -> bool:
    """Return whether two tags differ in script and region at most."""
    return base_language(first) == base_language(second)
