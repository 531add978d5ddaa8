"""Source code: passages are whole functions and classes, and know what is around them."""

from pathlib import PurePath

import pytest

from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import Document
from pgblend.cli.documents.formats import media_type_of, parse_file
from pgblend.cli.documents.parse_code import parse_code
from pgblend.cli.documents.parse_settings import ChunkSettings


def parse(source: str, name: str) -> Document:
    data = source.encode()
    return parse_file(data, media_type_of(PurePath(name), data), name, "")


SOURCES = {
    "a.py": "# about f\n@dec\ndef f(a):\n    pass\n\nclass A(B):\n    def m(self):\n        pass\n",
    "a.js": "/** doc */\nexport function f(a) {}\nconst g = (x) => x;\nclass A { m() {} }\n",
    "a.ts": "interface I { a: string }\nexport class A<T> { m(): void {} }\nnamespace N {}\n",
    "a.tsx": "export function App() { return <div/>; }\n",
    "A.java": "package a;\n/** d */\npublic class A { A() {} int m() { return 1; } enum E {X} }\n",
    "a.go": "package a\n// Doc\nfunc F() {}\nfunc (s *S) Handle() {}\ntype S struct { a int }\n",
    "a.rs": "/// doc\n#[derive(A)]\npub struct S {}\nimpl S { fn m(&self) {} }\nmod x {}\n",
    "a.c": "static int *f(int a) { return 0; }\ntypedef struct { int b; } t;\nint g(void);\n",
    "a.cpp": "namespace n { class A { int k() { return 1; } }; }\nvoid A::m() {}\n",
    "a.cs": "namespace N { public class A { public A() {} public int M() => 1; } }\n",
    "a.rb": "module M\n  class A < B\n    def m(x)\n    end\n  end\nend\n",
    "a.php": "<?php\n/** d */\nclass A { public function m() {} }\nfunction f() {}\n",
    "a.sh": "# doc\nf() { echo 1; }\nfunction g { echo; }\n",
    "a.kt": "class A(val x: Int) {\n  fun m(): Int = 1\n}\nfun top() {}\nobject O {}\n",
    "a.scala": "object O { def m(x: Int): Int = x }\ntrait T { }\n",
}
NAMES = {
    "a.py": "f A A>m",
    "a.js": "f g A A>m",
    "a.ts": "I A A>m N",
    "a.tsx": "App",
    "A.java": "A A>A A>m A>E",
    "a.go": "F Handle S",
    "a.rs": "S S S>m x",
    "a.c": "f t",
    "a.cpp": "n n>A n>A>k A::m",
    "a.cs": "N N>A N>A>A N>A>M",
    "a.rb": "M M>A M>A>m",
    "a.php": "A A>m f",
    "a.sh": "f g",
    "a.kt": "A A>m top O",
    "a.scala": "O O>m T",
}


@pytest.mark.parametrize("name", SOURCES)
def test_functions_and_classes_are_told_in_each_language(name: str) -> None:
    found = []
    path: list[str] = []
    for heading in parse(SOURCES[name], name).headings:
        path = [*path[: heading.level - 1], *filter(None, [heading.text])]
        found += [">".join(path)] if heading.text else []
    assert found == NAMES[name].split()


METHOD = "    # Says {0}.\n    def method_{0}(self):\n" + "        value = call(self, 'text')\n" * 9
CLASS = "import os\n\n\nclass Shop(Base):\n" + "\n".join(METHOD.format(n) for n in range(12))
TAIL = "\n\ndef alone():\n    return 1\n\n\nprint(alone())\n"


def test_passages_are_whole_functions_with_what_is_around_them() -> None:
    chunks = split_document(parse(CLASS + TAIL, "src/shop.py"), ChunkSettings())
    assert len(chunks) > 6  # small methods share a passage, up to a quarter of it
    for chunk in chunks:
        lines = chunk["content"].splitlines()
        assert chunk["token_count"] <= 400
        assert lines[0].lstrip().startswith(("import os", "# Says", "def alone"))
        assert chunk["content"].count("def method") == chunk["content"].count("# Says")
        assert chunk["context"].splitlines()[0] == "src/shop.py"
    assert chunks[1]["context"] == "src/shop.py\nclass Shop(Base):"
    assert chunks[1]["heading"].startswith("Shop > method_")
    text = CLASS + TAIL
    assert " ".join(c["content"][c["own_start"] :] for c in chunks).split() == text.split()


def test_a_function_longer_than_a_passage_keeps_its_name() -> None:
    source = "class Big:\n    def long(self):\n" + "        work(self, 'words here')\n" * 200
    chunks = split_document(parse(source, "big.py"), ChunkSettings())
    assert len(chunks) > 3
    assert all(chunk["heading"] == "Big > long" for chunk in chunks[1:])
    assert chunks[-1]["context"] == "big.py\nclass Big:\ndef long(self):"


def test_letters_beyond_ascii_keep_places() -> None:
    source = "# größer 😀\ndef ä():\n    return 'ö'\n\n\ndef b():\n    pass\n"
    document = parse(source, "u.py")
    assert [source[s.start : s.end] for s in document.scopes] == [
        "# größer 😀\ndef ä():\n    return 'ö'",
        "def b():\n    pass",
    ]


def test_other_languages_are_cut_at_lines_under_their_definitions() -> None:
    document = parse("function Get-Thing {\n}\n", "a.ps1")
    assert [heading.text for heading in document.headings] == ["Get-Thing"]
    assert document.scopes == ()


@pytest.mark.parametrize(
    ("name", "source", "names"),
    [
        ("a.sql", "CREATE TABLE IF NOT EXISTS a.users (id int);\ncreate temp table t(a int);\n"
                  "CREATE UNIQUE INDEX i ON t(a);\nCREATE INDEX ON t(a);\n"
                  'CREATE OR REPLACE VIEW "My view" AS SELECT 1;\n',
         'a.users t i "My view"'),
        ("a.swift", "@objc public class A {\n  func m() {}\n}\nextension B {\n}\nactor C {}\n",
         "A m B C"),
        ("a.m", "@interface A : B\n@end\n@implementation A\n@end\n", "A A"),
        ("a.lua", "local function f()\nend\nfunction M:h()\nend\n", "f M:h"),
        ("a.ex", "defmodule A.B do\n  def f(x), do: x\n  defp g, do: 1\nend\n", "A.B f g"),
        ("a.r", "f <- function(x) {\n}\ng = function() 1\n", "f g"),
        ("a.clj", "(ns a.b)\n(defn- f [x] x)\n", "a.b f"),
        ("a.proto", "message M {\n}\nservice S {\n  rpc Get(A) returns (B);\n}\n", "M S Get"),
        ("a.graphql", "type User {\n}\nextend type Query {\n}\n", "User Query"),
    ],
)  # fmt: skip
def test_definitions_of_other_languages_are_headings(name: str, source: str, names: str) -> None:
    document = parse(source, name)
    assert " ".join(heading.text for heading in document.headings) == names
    assert document.text == source


def test_functions_that_objects_and_modules_hold_are_named() -> None:
    source = "module.exports = { a() {}, b: function () {}, c: (x) => x };\n"
    source += "exports.d = function () {};\n"
    assert [each.text for each in parse(source, "a.js").headings if each.text] == list("abcd")


PAGE = """<template>
  <div title="Gr\u00f6\u00dfe">{{ title }}</div>
</template>

<script lang="ts">
function greet(name: string): string {
  return name
}
</script>

<style>
.a { color: red }
</style>
"""
TERRAFORM = """terraform {
}
resource "aws_instance" "web" {
  provisioner "local-exec" {
  }
}
variable "size" { default = 2 }
"""


@pytest.mark.parametrize(
    ("suffix", "source", "headings"),
    [
        (".vue", PAGE, ["template", "greet", "style"]),
        (".svelte", PAGE.replace(' lang="ts"', "").replace(": string", ""),
         ["template", "greet", "style"]),
        (".tf", TERRAFORM, ["terraform", 'resource "aws_instance" "web"', 'variable "size"']),
    ],
)  # fmt: skip
def test_pages_with_code_and_blocks_of_terraform_have_headings(suffix, source, headings):
    document = parse_code(source.encode(), suffix)
    assert document.text == source
    found = [heading for heading in document.headings if heading.text]
    assert [heading.text for heading in found] == headings
    assert all(heading.text in source[heading.offset :].split("\n")[0] for heading in found)
