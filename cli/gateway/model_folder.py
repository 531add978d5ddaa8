"""Where models of one's own are: a folder, else Hugging Face's cache on this machine."""

from collections.abc import Iterable
from pathlib import Path

from pgblend.cli.gateway.errors import GatewayError

LOCAL_PREFIX = "local/"


def find_model(folder: Path, model: str, known: Iterable[str] = ()) -> Path:
    """Return the folder of `local/<name>`: one in `folder`, or a model of the hub by its name.

    GatewayError where there is none; it names those that are `known` without a folder.
    """
    name = model.removeprefix(LOCAL_PREFIX)
    own = folder / name
    if (own / "config.json").is_file():
        return own
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except (ImportError, ValueError, OSError):
        there_is = "".join(f"; there is {other}" for other in known)
        message = f"there is no local model {name!r}: put its files into {own}{there_is}"
        raise GatewayError(404, "model_not_found", message, param="model") from None
