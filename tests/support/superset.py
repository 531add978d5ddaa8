"""A Superset that runs for a test, with its bundle of dashboards."""

import io
import json
import os
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from support.waiting import wait_until

# What the release asks for and its packages do not name, or name too widely.
LIBRARIES = (
    *("apache-superset>=6,<7", "psycopg2-binary", "gunicorn"),
    *("rich", "cachetools", "flask-caching<2.4"),
)
ACCOUNT = ("admin", "secret")
_CONFIGURATION = """
SECRET_KEY = "of a test that ends soon, and of no other"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db?check_same_thread=false"
TALISMAN_ENABLED = False  # it would ask for https
RATELIMIT_ENABLED = False
"""


@contextmanager
def superset(python: Path, folder: Path, port: int) -> Iterator[str]:
    """Set up a Superset in a folder and run it; yields its address."""
    configuration = folder / "superset_config.py"
    configuration.write_text(_CONFIGURATION.format(folder=folder), encoding="utf-8")
    variables = {
        **os.environ,
        "SUPERSET_CONFIG_PATH": str(configuration),
        "SUPERSET_HOME": str(folder),
        "FLASK_APP": "superset",
    }
    name, password = ACCOUNT
    person = ["--firstname", "A", "--lastname", "B", "--email", "a@example.org"]
    account = ["fab", "create-admin", "--username", name, "--password", password, *person]
    for arguments in (["db", "upgrade"], account, ["init"]):
        command = [python.parent / "superset", *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
    serve = ["--threads", "8", "--bind", f"127.0.0.1:{port}", "--timeout", "600"]
    command = [python.parent / "gunicorn", *serve, "superset.app:create_app()"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(address))
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health", timeout=60).is_success
    except httpx.TransportError:
        return False


def import_bundle(address: str, folder: Path, changes: dict[str, str], password: str) -> None:
    """Import the files of a folder as a bundle, with words changed, as the page for it does."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as bundle:
        for file in sorted(folder.rglob("*.yaml")):
            text = file.read_text(encoding="utf-8")
            for shown, real in changes.items():
                text = text.replace(shown, real)
            bundle.writestr(f"pgblend/{file.relative_to(folder)}", text)
    with httpx.Client(base_url=address, timeout=600) as client:
        login = dict(zip(("username", "password"), ACCOUNT, strict=True))
        asked = client.post("/api/v1/security/login", json={**login, "provider": "db"})
        client.headers["Authorization"] = f"Bearer {asked.json()['access_token']}"
        csrf = client.get("/api/v1/security/csrf_token/").json()["result"]
        answer = client.post(
            "/api/v1/dashboard/import/",
            headers={"X-CSRFToken": csrf, "Referer": address},
            files={"formData": ("pgblend.zip", packed.getvalue(), "application/zip")},
            data={"passwords": json.dumps({"databases/pgblend.yaml": password})},
        )
    assert answer.is_success, answer.text
