"""The model that comes with postedit; the README in its folder says what it is good for."""

from pathlib import Path
from typing import Final

MODEL: Final = Path(__file__).resolve().parent / "model"
"""Its folder, which is loaded where no model is named."""

SUMMARY: Final = "English to Chinese, encyclopaedic text"
