"""The templates of a page: a user's text stays a text, and a name that is missing is an error."""

from importlib.resources import files
from typing import TYPE_CHECKING

from pgblend.cli.base import output

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(package: str) -> "Environment":
    """Return what renders the templates of a package, which extend page.html.

    `style(file)` is the style of all pages with that of the package. The filter `line` puts a text
    on one line, without control characters.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def read(name: str) -> str:
        of = "pgblend.cli.base" if name.startswith("page.") else package
        return (files(of) / "templates" / name).read_text(encoding="utf-8")

    def style(name: str) -> Markup:
        return Markup(read("page.css") + read(name))

    environment = Environment(
        loader=FunctionLoader(read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = output.one_line
    environment.globals["style"] = style
    return environment
