"""What the run asks for its parsing processes: the text of a picture, from a vision model."""

import subprocess
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pgblend.cli.child_process import FOLDER, child_environment, find_program
from pgblend.cli.ingest.read_pictures import OCR, VISION

if TYPE_CHECKING:
    from pgblend.cli.ingest.gateway_client import GatewayClient

_PROMPT = (
    "Write down all text that the picture shows, in reading order, tables row by row with cells "
    "separated by ' | '. Then, after an empty line, describe in two or three sentences what it "
    "shows beside text: what a chart says, what is to be seen. Use the language of the text in the "
    "picture, English where there is none. Write nothing else."
)
_MAX_TOKENS = 2000
# Scripts and orientation are data of tesseract's own, not languages.
_NO_LANGUAGES = ("osd", "equ")


class Vision:
    """A vision model behind the gateway, safe in several threads."""

    def __init__(self, gateway_url: str, model: str) -> None:
        self._gateway_url = gateway_url
        self._model = model

    @cached_property
    def _client(self) -> "GatewayClient":
        from pgblend.cli.ingest.gateway_client import GatewayClient  # HTTP takes its time

        return GatewayClient(self._gateway_url)

    def describe(self, picture: str) -> dict[str, Any]:
        """Return {"text": …} for a JPEG in base64, {"problem": …} where the model fails."""
        from pgblend.cli.ingest.gateway_client import GatewayUnavailableError

        content: list[dict[str, Any]] = [
            {"type": "text", "text": _PROMPT},
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{picture}"}},
        ]
        try:
            return {"text": self._client.complete(self._model, content, _MAX_TOKENS)}
        except GatewayUnavailableError as error:
            return {"problem": error.reason}


def how_to_read(vision_model: str | None, gateway_url: str | None) -> str:
    """Say how pictures are read: by the model, else by tesseract where it is installed, else "".

    The result is what PictureReader takes.
    """
    if vision_model and gateway_url:
        return f"{VISION}:{vision_model}"
    languages = _tesseract_languages()
    return f"{OCR}:{languages}" if languages else ""


def _tesseract_languages() -> str:
    """Return the languages that tesseract has, "" where it is not installed."""
    program = find_program("tesseract")
    if program is None:
        return ""
    listed = subprocess.run(
        [program, "--list-langs"],
        cwd=FOLDER,
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    names = [line.strip() for line in listed.stdout.splitlines()[1:]]
    return "+".join(name for name in names if name and name not in _NO_LANGUAGES)
