"""The functions and classes of source code by tree-sitter: where each lies, and its name."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

import tree_sitter

# A grammar that lies in the package of another one, or has another name there.
_MODULES = {"tsx": "typescript"}
_FUNCTIONS = {"tsx": "language_tsx", "typescript": "language_typescript", "php": "language_php"}
_DEFINITIONS = frozenset(
    (
        *("function_definition", "class_definition", "object_definition"),
        *("trait_definition", "enum_definition", "function_declaration"),
        *("generator_function_declaration", "class_declaration", "interface_declaration"),
        *("abstract_class_declaration", "enum_declaration", "record_declaration"),
        *("object_declaration", "struct_declaration", "trait_declaration"),
        *("annotation_type_declaration", "type_alias_declaration", "method_definition"),
        *("method_declaration", "constructor_declaration", "destructor_declaration"),
        *("operator_declaration", "delegate_declaration", "type_declaration"),
        *("internal_module", "module_declaration", "function_item"),
        *("struct_item", "enum_item", "union_item"),
        *("trait_item", "impl_item", "mod_item"),
        *("macro_definition", "class_specifier", "struct_specifier"),
        *("union_specifier", "enum_specifier", "namespace_definition"),
        *("namespace_declaration", "file_scoped_namespace_declaration", "companion_object"),
        *("secondary_constructor", "class", "module"),
        *("method", "singleton_method", "type_definition"),
    )
)
# Definitions of these have a body, else they only mention a type.
_WITH_BODY = frozenset(("class_specifier", "struct_specifier", "union_specifier", "enum_specifier"))
_VALUES = frozenset(("arrow_function", "function_expression", "generator_function", "class"))
_ASSIGNMENTS = frozenset(
    ("variable_declarator", "public_field_definition", "assignment_expression", "pair")
)
_AROUND = frozenset(("decorated_definition", "export_statement", "template_declaration"))
_BEFORE = frozenset(
    (
        "comment",
        "line_comment",
        "block_comment",
        "multiline_comment",
        "attribute_item",
        "annotation",
    )
)
_NAMES = frozenset(
    (
        *("identifier", "type_identifier", "simple_identifier"),
        *("field_identifier", "property_identifier", "constant"),
        *("qualified_identifier", "namespace_identifier", "name"),
        *("word", "scope_resolution", "operator_name"),
        *("destructor_name", "private_property_identifier"),
    )
)
_NAME_FIELDS = ("name", "property", "key", "declarator", "left", "type")
_LONGEST_NAME = 100
_DEEPEST_TREE = 50


class Definition(NamedTuple):
    """A function or class: its bytes, comments above included, its depth from 0, its name.

    Its signature begins after the comments.
    """

    start: int
    signature: int
    end: int
    depth: int
    name: str


def outline(source: bytes, language: str) -> list[Definition]:
    """Return the definitions of a text in UTF-8, in order; those within others after them."""
    found: list[Definition] = []
    root = _parser(language).parse(source).root_node
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        inner = _defined(node)
        if inner is not None and depth < _DEEPEST_TREE:
            whole = _outermost(node)
            found.append(
                Definition(_start(whole), node.start_byte, whole.end_byte, depth, _name(inner))
            )
            depth += 1
        stack += [(child, depth) for child in reversed(node.named_children)]
    return sorted(found, key=lambda each: (each.start, each.depth))


@cache
def _parser(language: str) -> tree_sitter.Parser:
    module = import_module(f"tree_sitter_{_MODULES.get(language, language)}")
    grammar = getattr(module, _FUNCTIONS.get(language, "language"))()
    return tree_sitter.Parser(tree_sitter.Language(grammar))


def _defined(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the node that names what is defined; None where nothing is."""
    if node.type == "type_definition":  # of C: the name stands after the body
        kind = node.child_by_field_name("type")
        return node if kind is not None and kind.child_by_field_name("body") else None
    if node.type in _WITH_BODY:
        is_named = node.parent is not None and node.parent.type != "type_definition"
        return node if is_named and node.child_by_field_name("body") else None
    if node.type == "module":  # of Ruby; Python's is the whole file
        return node if node.child_by_field_name("name") else None
    if node.type in _DEFINITIONS:
        return node
    if node.type in _ASSIGNMENTS:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        return node if value is not None and value.type in _VALUES else None
    return None


def _outermost(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return what stands around a definition and belongs to it: decorators, `export`, `const`."""
    while (around := node.parent) is not None:
        is_statement = around.type in (
            *("lexical_declaration", "variable_declaration", "expression_statement"),
            "declaration",
        )
        if around.type not in _AROUND and not (is_statement and around.named_child_count == 1):
            break
        node = around
    return node


def _start(node: tree_sitter.Node) -> int:
    """Return where a definition begins: at the comments and attributes right above it."""
    while (before := _before(node)) is not None and before.type in _BEFORE:
        other = before.prev_sibling
        is_own_line = other is None or _last_row(other) < before.start_point.row
        if node.start_point.row - _last_row(before) > 1 or not is_own_line:
            break
        node = before
    return node.start_byte


def _before(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return what stands before a node; Python has a class's first comment before its block."""
    body = node.parent
    if node.prev_named_sibling is None and body is not None and body.type == "block":
        return body.prev_named_sibling
    return node.prev_named_sibling


def _last_row(node: tree_sitter.Node) -> int:
    """Return the row of a node's last letter: some comments have their line's end with them."""
    end = node.end_point
    return end.row if end.column or end.row == node.start_point.row else end.row - 1


def _name(node: tree_sitter.Node) -> str:
    return (_text(next(_named(node), None)) or "")[:_LONGEST_NAME]


def _named(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the names of a definition, the best first, down through declarators."""
    for _ in range(_DEEPEST_TREE):
        if node.type in _NAMES:
            yield node
            return
        inner = next((c for f in _NAME_FIELDS if (c := node.child_by_field_name(f))), None)
        inner = inner or next(
            (c for c in node.named_children if c.type in _NAMES or c.type == "type_spec"), None
        )
        if inner is None:
            if node.child_count == 0 or node.type in ("generic_type", "scoped_type_identifier"):
                yield node
            return
        node = inner


def _text(node: tree_sitter.Node | None) -> str:
    if node is None or node.text is None:
        return ""
    return " ".join(node.text.decode("utf-8", "replace").split())
