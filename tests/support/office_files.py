"""Files of Office from the XML of their parts, as Word and its relatives write them."""

import io
import zipfile
from collections.abc import Mapping

_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
NAMESPACES = " ".join(
    f'xmlns:{prefix}="{name}"'
    for prefix, name in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "xdr": "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "v": "urn:schemas-microsoft-com:vml",
        "o": "urn:schemas-microsoft-com:office:office",
        "r": _R,
    }.items()
)
CHART = f"""<c:chartSpace {NAMESPACES}><c:chart><c:title><c:tx><c:rich><a:p><a:r>
<a:t>Catch</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache>
<c:pt idx="0"><c:v>Share</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache>
<c:pt idx="0"><c:v>herring</c:v></c:pt><c:pt idx="1"><c:v>cod</c:v></c:pt></c:strCache></c:strRef>
</c:cat><c:val><c:numRef><c:numCache><c:formatCode>0%</c:formatCode><c:pt idx="0"><c:v>0.25</c:v>
</c:pt><c:pt idx="1"><c:v>0.75</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart>
<c:catAx><c:title><c:tx><c:rich><a:p><a:r><a:t>Kind of fish</a:t></a:r></a:p></c:rich></c:tx>
</c:title></c:catAx></c:plotArea></c:chart></c:chartSpace>"""
CHART_TEXT = "Catch\nKind of fish\n\n | Share\nherring | 25%\ncod | 75%"
DIAGRAM = f"""<dgm:dataModel {NAMESPACES}><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r>
<a:t>Plan</a:t></a:r></a:p>
</dgm:t></dgm:pt><dgm:pt><dgm:t><a:p><a:r><a:t>Build</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst>
</dgm:dataModel>"""


def package(
    main: str, parts: Mapping[str, str | bytes], relations: Mapping[str, Mapping[str, str]]
) -> bytes:
    """Return a file whose document is the part `main`.

    `relations` are those of each part, by id: "KIND PATH".
    """
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
        **parts,
    }
    for part, targets in {"": {"m": f"officeDocument {main}"}, **relations}.items():
        folder, _, name = part.rpartition("/")
        files[f"{folder}/_rels/{name}.rels".lstrip("/")] = _relations(targets)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def _absolute(kind: str, path: str) -> tuple[str, str]:
    """Write a path from the archive's root, one that begins with ./ from where it stands."""
    return kind, path[2:] if path.startswith("./") else f"/{path}"


def _relations(targets: Mapping[str, str]) -> str:
    items = "".join(
        f'<Relationship Id="{name}" Type="{_R}/{kind}" Target="{path}"/>'
        for name, target in targets.items()
        for kind, path in [_absolute(*target.split())]
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{items}</Relationships>'


def word(body: str, relations: Mapping[str, str] | None = None, **parts: str) -> bytes:
    """Return a file of Word; parts by name ("header1"), each with the root that it needs."""
    files = {f"word/{name}.xml": data for name, data in parts.items()}
    files["word/document.xml"] = f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
    return package("word/document.xml", files, {"word/document.xml": relations or {}})


def paragraph(text: str, properties: str = "") -> str:
    """Return a paragraph of Word with one run."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def root(name: str, content: str) -> str:
    """Return a part's root with what is in it."""
    return f"<{name} {NAMESPACES}>{content}</{name}>"
