"""Pictures at ingest: read by a vision model, by tesseract, or not at all."""

import base64
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from PIL import Image, ImageDraw, ImageFont

from support.model_provider import Behaviour, ModelProvider

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
Ingest = Callable[..., tuple[int, dict[str, Any]]]
VISION_MODEL = "openai/test-chat"


@pytest.fixture
def ingest(pgblend: Pgblend, parse_valid: ParseValid, tmp_path: Path) -> Ingest:
    """Run `pgblend ingest` on a folder or on files; exit code and report."""

    def run(*paths: Path, options: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
        given = [str(path) for path in paths] or [str(tmp_path)]
        result = pgblend("ingest", *given, "--collection", "c", "--json", *options)
        return result.exit_code, parse_valid(result, "ingest-report")

    return run


@pytest.fixture
def no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without tesseract."""
    monkeypatch.setattr("pgblend.cli.documents.read_pictures.find_program", lambda name: None)


@pytest.fixture
def vision(gateway_connection: psycopg.Connection, model_provider: ModelProvider) -> ModelProvider:
    """A vision model that says how large a picture is."""
    gateway_connection.execute(
        "SELECT set_setting('vision_model', to_jsonb(%s::text))", [VISION_MODEL]
    )
    model_provider.reply = lambda body: (
        f"A walrus of {len(shown(body))} bytes.\n\nIt shows a walrus."
    )
    return model_provider


def shown(body: dict[str, Any]) -> bytes:
    (_, picture) = body["messages"][-1]["content"]
    kind, _, data = picture["image_url"]["url"].partition(";base64,")
    assert kind == "data:image/jpeg"
    return base64.b64decode(data)


def save(path: Path, text: str = "", size: tuple[int, int] = (600, 120)) -> Path:
    image = Image.new("RGB", size, "white")
    font = ImageFont.load_default(size=48)
    ImageDraw.Draw(image).text((20, 30), text, fill="black", font=font)
    image.save(path)
    return path


def contents(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT d.source_key, c.content, d.metadata FROM blend.documents AS d"
        " JOIN blend.chunks AS c USING (document_id) ORDER BY 1, c.chunk_index"
    ).fetchall()


@pytest.mark.usefixtures("no_ocr")
def test_a_vision_model_describes_a_picture(
    ingest: Ingest, vision: ModelProvider, gateway_connection: psycopg.Connection, tmp_path: Path
) -> None:
    save(tmp_path / "walrus.png", size=(4000, 2000))
    code, report = ingest()
    assert (code, report["documents"]["added"], report["warnings"]) == (0, 1, [])
    ((key, content, metadata),) = contents(gateway_connection)
    assert (key, content.startswith("A walrus of")) == ("walrus.png", True)
    assert metadata == {
        "type": "IMAGE", "width": 4000, "height": 2000, "picturesReadBy": VISION_MODEL
    }  # fmt: skip
    (asked,) = [body for body in vision.bodies if "messages" in body]
    assert asked["model"].endswith("test-chat")
    assert Image.open(io.BytesIO(shown(asked))).size == (1568, 784)
    found = gateway_connection.execute("SELECT source_key FROM blend.lexical_search('walrus')")
    assert found.fetchall() == [("walrus.png",)]
    vision.reset()
    assert ingest()[1]["documents"]["unchanged"] == 1
    assert vision.requests == 0
    # Another model reads it anew.
    gateway_connection.execute("SELECT set_setting('vision_model', '\"openai/gpt-4o-mini\"')")
    vision.reply = lambda body: "A seal, after all."
    assert ingest()[1]["documents"]["replaced"] == 1
    assert contents(gateway_connection)[0][1] == "A seal, after all."


@pytest.mark.usefixtures("no_ocr")
def test_without_model_and_tesseract_one_clear_line(
    ingest: Ingest, connection: psycopg.Connection, tmp_path: Path
) -> None:
    path = save(tmp_path / "a.png")
    (tmp_path / "b.txt").write_text("a walrus")
    code, report = ingest()
    assert (code, report["documents"]["added"], report["documents"]["skipped"]) == (0, 1, 1)
    (line,) = report["skipped"]
    assert line["source"] == str(path)
    assert "vision_model" in line["message"]
    assert "tesseract" in line["message"]
    code, report = ingest(path)
    assert (code, report["documents"]["failed"]) == (1, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("no_ocr")
def test_a_model_that_fails_costs_its_pictures_only(
    ingest: Ingest,
    vision: ModelProvider,
    gateway_connection: psycopg.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pgblend.cli.embed.embedding_client.time.sleep", lambda seconds: None)
    save(tmp_path / "a.png")
    (tmp_path / "b.txt").write_text("a walrus")
    # A model of its own: the gateway leaves one alone that failed often.
    model = "SELECT set_setting('vision_model', '\"openai/blind\"')"
    gateway_connection.execute(model)
    vision.behaviours["chat"] = Behaviour(status=500, error_message="it broke")
    code, report = ingest()
    assert (code, report["documents"]["added"], report["documents"]["failed"]) == (4, 1, 1)
    assert "openai/blind" in report["failures"][0]["message"]
    vision.reset()
    gateway_connection.execute(model.replace("blind", "eye"))
    vision.reply = lambda body: "text"
    assert ingest()[1]["documents"]["added"] == 1


@pytest.mark.extended
@pytest.mark.usefixtures("no_ocr")
def test_hostile_pictures_are_lines_of_the_report(
    ingest: Ingest, vision: ModelProvider, gateway_connection: psycopg.Connection, tmp_path: Path
) -> None:
    good = save(tmp_path / "good.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(good[: len(good) // 2])
    (tmp_path / "page.jpg").write_text("<html>no picture</html>")
    (tmp_path / "renamed.gif").write_bytes(good)  # a PNG is a PNG by any name
    (tmp_path / "empty.webp").write_bytes(b"")
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    code, report = ingest()
    assert code == 4
    assert report["documents"]["added"] == 2
    messages = {Path(each["source"]).name: each["message"] for each in report["failures"]}
    assert set(messages) == {"cut.png", "page.jpg", "empty.webp", "bomb.png"}
    assert "broken" in messages["cut.png"]
    assert "20,000 x 20,000 pixels" in messages["bomb.png"]
    assert {row[0] for row in contents(gateway_connection)} == {"good.png", "renamed.gif"}


@pytest.mark.usefixtures("no_ocr")
def test_scanned_pages_of_a_pdf_are_read(
    ingest: Ingest, vision: ModelProvider, gateway_connection: psycopg.Connection, tmp_path: Path
) -> None:
    pages = [Image.new("RGB", (200, 300), "white") for _ in range(2)]
    pages[0].save(tmp_path / "scan.pdf", save_all=True, append_images=pages[1:])
    replies = iter(["The first page.", "The second page."])
    vision.reply = lambda body: next(replies)
    code, report = ingest()
    assert (code, report["documents"]["added"], report["warnings"]) == (0, 1, [])
    row = gateway_connection.execute("SELECT content, pages FROM blend.chunks").fetchone()
    assert row == ("The first page.\n\nThe second page.", [1, 2])


@pytest.mark.usefixtures("no_ocr")
def test_a_dry_run_asks_no_model(
    ingest: Ingest, vision: ModelProvider, gateway_connection: psycopg.Connection, tmp_path: Path
) -> None:
    save(tmp_path / "a.png")
    _, report = ingest(options=("--dry-run",))
    assert (report["documents"]["added"], vision.requests) == (1, 0)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_tesseract_reads_where_there_is_no_model(
    ingest: Ingest, connection: psycopg.Connection, tmp_path: Path
) -> None:
    save(tmp_path / "a.png", "A walrus swims")
    code, report = ingest()
    assert (code, report["documents"]["added"]) == (0, 1)
    ((_, content, metadata),) = contents(connection)
    assert content == "A walrus swims"
    assert "eng" in metadata["picturesReadBy"]
