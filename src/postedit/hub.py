"""Download models from the Hugging Face hub, and upload them; import this module late, because its library is slow."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, RepositoryNotFoundError

from postedit.core.errors import ModelFolderError, first_line

_ERRORS: Final = (HfHubHTTPError, HFValidationError, OSError)
"""Errors that downloads and uploads raise; failed connections are OSErrors."""


def download(model: str, patterns: Sequence[str]) -> Path:
    """Download the files of `model` ("name/model") that match one of `patterns`, and return the folder with them.

    Raises:
        ModelFolderError: if the hub cannot be reached, or does not provide the model.
    """
    try:
        return Path(snapshot_download(model, allow_patterns=list(patterns)))
    except LocalEntryNotFoundError:
        raise ModelFolderError(
            f"{model}: no such folder, and the Hugging Face hub cannot be reached to download it; check the network, "
            "or download the model on another machine and give the path of its folder"
        ) from None
    except RepositoryNotFoundError:
        raise ModelFolderError(
            f"{model}: no such folder, and the Hugging Face hub has no model of that name that you may read; check the "
            "name, or log in (hf auth login) if it is private"
        ) from None
    except _ERRORS as error:
        raise ModelFolderError(
            f"{model}: no such folder, and the hub does not provide it: {first_line(error)}"
        ) from None


def upload(folder: Path, repository: str, *, private: bool) -> str:
    """Upload a folder, without hidden files, as `repository` ("name/model"), created if needed; return its address.

    Raises:
        ModelFolderError: if the hub refuses or cannot be reached.
    """
    try:
        api = HfApi()
        api.create_repo(repository, private=private, exist_ok=True)
        return str(api.upload_folder(repo_id=repository, folder_path=folder, ignore_patterns=[".*", "*/.*"]))
    except _ERRORS as error:
        raise ModelFolderError(f"{repository}: not uploaded to the hub: {first_line(error)}") from None
