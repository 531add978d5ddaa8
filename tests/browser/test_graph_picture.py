"""The picture of a neighbourhood in a real browser: drawn whole, nothing fetched or refused."""

from pathlib import Path

from PIL import Image

from pgblend.cli.graph.neighbourhood import Neighbourhood, ShownEdge, ShownNode, render_page
from support.browser import Browser

HOSTILE = "<script>document.title='x'</script>"


def test_a_neighbourhood(browser: Browser, tmp_path: Path) -> None:
    names = [f"document:{number}" for number in range(1, 12)]
    nodes = [ShownNode("document:0", "document", "Middle", "m", 0, "")]
    nodes += [
        ShownNode(name, "document", f"Title of {name}", name, 1, "document:0") for name in names
    ]
    nodes.append(ShownNode("entity:1", "entity", HOSTILE, "", 2, names[0]))
    edges = [ShownEdge("document:0", name, "link") for name in names]
    edges.append(ShownEdge(names[0], "entity:1", "mentions"))
    path = tmp_path / "graph.html"
    path.write_text(render_page(Neighbourhood(nodes, edges)), encoding="utf-8")
    tree, console = browser.dom(path)
    assert console == []
    assert len(tree.css("svg .node")) == len(nodes)
    assert len(tree.css("tbody tr")) == len(edges)
    assert tree.css("script") == []
    assert tree.css("svg .node text")[-1].text() == HOSTILE[:33] + "…"
    with Image.open(browser.screenshot(path, 1000, 1000)) as picture:
        colours = picture.convert("RGB").getcolors(1 << 24) or []
    assert {(0, 114, 178), (213, 94, 0)} <= {colour for _, colour in colours}  # both kinds
