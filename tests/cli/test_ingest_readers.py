"""Readers of documents, named in files, beside them, by the command or by a folder's rights."""

import grp
import os
import struct

import pytest


@pytest.fixture
def ingest(pgblend, parse_valid, tmp_path):
    """Run `pgblend ingest` on the test's folder; return exit code, counts and standard error."""

    def run(*options):
        result = pgblend("ingest", str(tmp_path), "--collection", "c", "--json", *options)
        report = parse_valid(result, "ingest-report")["documents"] if result.stdout else {}
        return result.exit_code, {k: n for k, n in report.items() if n}, result.stderr

    return run


def rights(connection):
    rows = connection.execute("SELECT source_key, readers FROM blend.document_rights").fetchall()
    return {key: [name.removeprefix("group:") for name in names] for key, names in rows}


def test_records_name_their_readers_where_the_map_says_so(ingest, connection, tmp_path):
    """A field that is mapped is no text and no metadata; without the map it is any field."""
    rows = [
        '{"id": "a", "text": "The salary.", "acl": {"read": ["hr", " audit"]}}',
        '{"id": "b", "text": "The lunch.", "acl": {"read": "*"}}',
        '{"id": "c", "text": "The merger.", "acl": {"read": []}}',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    (tmp_path / "rows.jsonl.readers").write_text("sales")
    mapped = ("--map", "readers=acl.read")
    assert ingest()[:2] == (0, {"added": 3})
    assert rights(connection) == {key: ["sales"] for key in "abc"}
    assert ingest(*mapped)[0] == 0
    assert rights(connection) == {"a": ["audit", "hr"], "c": []}
    (tmp_path / "rows.jsonl").write_text('{"id": "d", "text": "The bonus."}\n{"acl": {"read": 7}}')
    code, report, told = ingest(*mapped)
    assert (code, report) == (1, {"failed": 2})
    assert "None: expected a list of names" in told
    (tmp_path / "rows.jsonl").write_text('{"acl": ["hr"], "pay": "much"}')
    assert ingest("--map", "readers=acl")[0] == 0
    text = "SELECT content FROM blend.chunks WHERE content LIKE '%much%'"
    assert connection.execute(text).fetchall() == [("pay: much",)]


@pytest.mark.extended
def test_the_nearest_that_names_readers_counts(ingest, pgblend, connection, tmp_path):
    """Front matter, then FILE.readers, then .readers of the folder or one above, then --readers."""
    (tmp_path / "staff" / "board").mkdir(parents=True)
    (tmp_path / "own.md").write_text("---\nreaders: [hr, audit]\nteam: x\n---\n\nThe salary.")
    (tmp_path / "toml.md").write_text('+++\nreaders = "hr, audit"\n+++\n\nThe bonus.')
    (tmp_path / "own.txt").write_text("---\nreaders: hr\n---\nThe pension.")
    (tmp_path / "nobody.md").write_text("---\nReaders: []\n---\n\nThe merger.")
    (tmp_path / "all.md").write_text('---\nreaders: "*"\n---\n\nThe lunch.')
    (tmp_path / "own.md.readers").write_text("wrong\n")
    (tmp_path / "beside.txt").write_text("The dismissal.")
    (tmp_path / "beside.txt.readers").write_text("# who\n\nlegal\n")
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}')
    (tmp_path / "staff" / ".readers").write_text("staff")
    (tmp_path / "staff" / "a.txt").write_text("The holidays.")
    (tmp_path / "staff" / "board" / "b.txt").write_text("The minutes.")
    assert ingest("--readers", "sales", "--readers", "shop")[:2] == (0, {"added": 10})
    expected = {
        "own.txt": ["hr"],
        "own.md": ["audit", "hr"],
        "toml.md": ["audit", "hr"],
        "nobody.md": [],
        "beside.txt": ["legal"],
        "1": ["sales", "shop"],
        "2": ["sales", "shop"],
        "staff/a.txt": ["staff"],
        "staff/board/b.txt": ["staff"],
    }
    assert rights(connection) == expected
    about = "SELECT metadata FROM blend.documents WHERE source_key = 'own.md'"
    assert connection.execute(about).fetchone()[0].keys() >= {"team"}
    assert "readers" not in connection.execute(about).fetchone()[0]
    # Whatever nobody says anything of keeps its readers.
    assert ingest()[:2] == (0, {"unchanged": 10})
    assert rights(connection) == expected
    # A file that is named itself, and a folder below the base, have the same.
    for path in (tmp_path / "beside.txt", tmp_path / "staff" / "board"):
        result = pgblend("ingest", str(path), "-c", "c", "--root", str(tmp_path))
        assert (result.exit_code, "1 unchanged" in result.stderr) == (0, True), result.stderr
    assert rights(connection) == expected
    (tmp_path / "staff" / ".readers").write_text("*")
    assert ingest("--readers", "hr")[1] == {"unchanged": 6, "updated": 4}
    assert rights(connection) == {
        "own.txt": ["hr"],
        "own.md": ["audit", "hr"],
        "toml.md": ["audit", "hr"],
        "nobody.md": [],
        "beside.txt": ["legal"],
        "1": ["hr"],
        "2": ["hr"],
    }


@pytest.mark.extended
def test_changed_rights_embed_nothing_anew(ingest, gateway_connection, model_provider, tmp_path):
    """Neither beside a file nor in its front matter; an edited passage alone gets a new vector."""
    page = tmp_path / "page.md"
    text = "# One\n\n" + "The walrus swims. " * 90 + "\n\n# Two\n\n" + "The otter dives. " * 90
    page.write_text(text)
    assert ingest()[:2] == (0, {"added": 1})
    asked = len(model_provider.bodies)
    page.with_name("page.md.readers").write_text("hr")
    assert ingest()[:2] == (0, {"updated": 1})
    assert rights(gateway_connection) == {"page.md": ["hr"]}
    page.write_text(f"---\nreaders: board\n---\n\n{text}")
    assert ingest()[:2] == (0, {"replaced": 1})
    assert rights(gateway_connection) == {"page.md": ["board"]}
    left = "SELECT waiting FROM blend.embedding_progress"
    assert gateway_connection.execute(left).fetchone() == (0,)
    assert len(model_provider.bodies) == asked
    page.write_text(f"---\nreaders: board\n---\n\n{text} An otter sleeps.")
    assert ingest()[:2] == (0, {"replaced": 1})
    new = [each for body in model_provider.bodies[asked:] for each in body["input"]]
    assert len(new) == 1
    assert new[0].endswith("An otter sleeps.")


def test_a_folder_s_rights(ingest, connection, tmp_path):
    """Groups that may read the file and enter its folders; all where all accounts may."""
    first, second = ((g.gr_name, g.gr_gid) for g in grp.getgrall()[1:3])
    tmp_path.chmod(0o755)
    folder = tmp_path / "personnel"
    folder.mkdir()
    for name, mode in (("all.txt", 0o644), ("group.txt", 0o640), ("owner.txt", 0o600)):
        path = folder / name
        path.write_text(f"The walrus {name}")
        os.chown(path, -1, first[1])
        path.chmod(mode)
    expected = {"personnel/group.txt": [first[0]], "personnel/owner.txt": []}
    assert ingest("--readers-from", "posix")[:2] == (0, {"added": 3})
    assert rights(connection) == expected
    os.chown(folder, -1, second[1])
    folder.chmod(0o750)
    assert ingest("--readers-from", "posix")[1] == {"updated": 2, "unchanged": 1}
    assert rights(connection) == {
        "personnel/all.txt": [second[0]],
        "personnel/group.txt": [],
        "personnel/owner.txt": [],
    }
    folder.chmod(0o755)
    entry = [(1, 6, -1), (4, 0, -1), (8, 4, first[1]), (8, 4, second[1]), (16, 4, -1), (32, 0, -1)]
    packed = b"".join(struct.pack("<HHI", tag, right, who % 2**32) for tag, right, who in entry)
    try:
        os.setxattr(folder / "owner.txt", "system.posix_acl_access", b"\2\0\0\0" + packed)
    except OSError as error:
        pytest.skip(f"no access lists in {tmp_path}: {error}")
    assert ingest("--readers-from", "posix")[1] == {"updated": 3}
    assert rights(connection) == {
        "personnel/group.txt": [first[0]],
        "personnel/owner.txt": sorted([first[0], second[0]]),
    }


def test_what_is_wrong_with_readers_is_told(ingest, connection, tmp_path):
    """The document is not stored for all instead."""
    wrong = {
        "readers: 5": "'readers' in its front matter is 5",
        "readers:": "'readers' in its front matter is None",
        "readers: [hr, 5]": "expected a list of names",
        "readers: hr\ntitle: [x": "its front matter cannot be read, and has 'readers'",
        "readers: [hr\n- x\n- y": "its front matter cannot be read, and has 'readers'",
        f"readers: {'x' * 64}": "expected the name of a role or group, of 1 to 63 bytes",
    }
    for number, front in enumerate(wrong):
        (tmp_path / f"{number}.md").write_text(f"---\n{front}\n---\n\nThe salary.")
    code, counts, stderr = ingest()
    assert (code, counts) == (1, {"failed": len(wrong)})
    told = [line for line in stderr.splitlines() if "failed: " in line]
    for number, said in enumerate(wrong.values()):
        assert any(f"{number}.md: " in line and said in line for line in told), (said, told)
    assert connection.execute("SELECT count(*) FROM blend.documents").fetchone() == (0,)


def test_the_command_s_own_mistakes(ingest, pgblend, tmp_path):
    (tmp_path / "page.md").write_text("The salary.")
    code, _, stderr = ingest("--readers", "hr", "--readers-from", "posix")
    assert (code, "--readers hr and --readers-from posix" in stderr) == (1, True)
    (tmp_path / "page.md.readers").write_bytes(b"\xff\xfe\xfa")
    code, _, stderr = ingest()
    assert (code, "page.md.readers: expected names of roles and groups" in stderr) == (1, True)
