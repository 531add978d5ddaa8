"""`pgblend gateway` as a real process, for tests."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from support.model_provider import ModelProvider


class GatewayProcess:
    """`pgblend gateway` as a real process on a free port; a context manager.

    It sees none of this process's keys: only PATH, HOME, PYTHONPATH, what `provider` needs and what
    `environment` adds.
    """

    command = "gateway"
    pass_fds: tuple[int, ...] = ()

    def __init__(
        self,
        *options: str,
        provider: "ModelProvider | None" = None,
        environment: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> None:
        self.options = options
        self.token = token
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", "HOME", "PYTHONPATH") or name.startswith("COVERAGE")
        }
        self.environment |= provider.environment if provider else {}
        self.environment |= environment or {}
        self.url = ""
        self.pid = 0

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="pgblend-gateway-")
        folder = Path(self._folder.name)
        self.ready_file = folder / "ready.json"
        self._log = folder / "stderr.txt"
        options = [*self.options, "--ready-file", str(self.ready_file)]
        if not {"--socket", "--port", "--fd"} & set(options):
            options += ["--port", "0"]
        if self.token is not None:
            token_file = folder / "token"
            token_file.touch(0o600)
            token_file.write_text(self.token)
            options += ["--token-file", str(token_file)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pgblend.cli.main", self.command, *options],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=self.pass_fds,
            )
        try:
            ready = self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        self.url = ready["url"]
        self.pid = ready["pid"]
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    @property
    def headers(self) -> dict[str, str]:
        """What a caller sends: the token, where there is one."""
        return {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}

    @property
    def stderr(self) -> str:
        """All that the process has printed so far."""
        return self._log.read_text()

    def stop(self) -> int:
        """End the process with SIGTERM, or SIGKILL after twenty seconds; return its exit code."""
        self.process.terminate()  # does nothing when it has ended
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _wait_until_ready(self, seconds: float = 180.0) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.ready_file.exists():
                ready: dict[str, Any] = json.loads(self.ready_file.read_text())
                return ready
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(f"it did not start: {self.stderr}")
