"""A neighbourhood as a page: its picture, and its edges as a table for reading aloud."""

from pgblend.cli.graph.neighbourhood import Neighbourhood
from pgblend.cli.graph.picture import draw
from pgblend.cli.pages.environment import page_environment


def render_page(around: Neighbourhood) -> str:
    """Return the page as HTML; it fetches nothing."""
    from markupsafe import Markup

    return (
        page_environment("pgblend.cli.graph")
        .get_template("graph.html")
        .render(
            around=around,
            start=around.nodes[0],
            titles={node.name: node.title for node in around.nodes},
            picture=Markup(draw(around)),
        )
    )
