"""The templates of a page: a text of a user's stays a text, and a name that is missing an error."""

from importlib.resources import files
from typing import TYPE_CHECKING

from pgblend.cli import output

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(package: str) -> "Environment":
    """Return what renders the templates of a package; `style(file)` is the style of all with it.

    The filter `line` puts a text on one line, without control characters.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    templates = files(package) / "templates"

    def read(name: str) -> str:
        return (templates / name).read_text(encoding="utf-8")

    def style(name: str) -> Markup:
        common = (files("pgblend.cli.pages") / "page.css").read_text(encoding="utf-8")
        return Markup(common + read(name))

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
