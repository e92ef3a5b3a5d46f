"""Download models from the Hugging Face hub, and upload them; import this module late, because its library is slow."""

from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

from postedit.core.errors import ModelFolderError, first_line
from postedit.core.files import reason_of


def download(model: str, patterns: Sequence[str]) -> Path:
    """Download the files of `model` ("name/model") that match one of `patterns`, and return the folder with them.

    Raises:
        ModelFolderError: if the hub cannot be reached, or does not provide the model.
    """
    try:
        return Path(snapshot_download(model, allow_patterns=list(patterns)))
    except LocalEntryNotFoundError as error:
        cause = f" ({first_line(error.__cause__)})" if error.__cause__ else ""
        raise ModelFolderError(
            f"{model}: no such folder, and the Hugging Face hub cannot be reached to download it{cause}; check the "
            "network, or download the model on another machine and give the path of its folder"
        ) from None
    except GatedRepoError:
        raise ModelFolderError(
            f"{model}: no such folder, and the model of that name on the Hugging Face hub is only for those to whom "
            "its authors give access; ask for it on the page of the model, and log in (hf auth login)"
        ) from None
    except RepositoryNotFoundError:
        raise ModelFolderError(
            f"{model}: no such folder, and the Hugging Face hub has no model of that name that you may read; check the "
            "name, or log in (hf auth login) if it is private"
        ) from None
    except Exception as error:  # the library and those that it transfers files with raise errors of many types
        if isinstance(error, OSError) and error.errno:  # of the system, as when the disk is full
            raise ModelFolderError(f"{model}: cannot be downloaded from the hub: {reason_of(error)}") from None
        raise ModelFolderError(
            f"{model}: no such folder, and the hub does not provide it: {first_line(error)}; if the "
            "connection was lost, run again"
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
    except Exception as error:  # as above
        refused = isinstance(error, HfHubHTTPError) and error.response.status_code in (401, 403)
        hint = "; log in (hf auth login) as somebody who may write there" if refused else ""
        raise ModelFolderError(f"{repository}: not uploaded to the hub: {first_line(error)}{hint}") from None
