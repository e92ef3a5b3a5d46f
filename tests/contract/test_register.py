"""No architecture escapes the laws."""

from tiny import TINY

from postedit.models import ARCHITECTURES


def test_every_registered_architecture_has_a_tiny_configuration() -> None:
    tried = {name.partition("/")[0] for name in TINY}
    assert tried == set(ARCHITECTURES), "add each architecture to TINY in tests/contract/tiny.py, and no others"
