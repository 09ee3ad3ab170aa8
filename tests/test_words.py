"""Docstrings, comments and pages are understood at first reading, also by people new to them.

Each construction in the list once hid what a sentence was about: a fragment without a subject, a
verb in place of the field's term (evidence *shows*, *reports* or *records* something; it does not
*tell of* it), or a chain of pronouns. None of them is needed to describe code.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from xladoctor.frontends.vocabulary import in_words, vocabularies

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xladoctor"
#: Made from help texts and columns.
GENERATED = {"commands.md", "evidence.md"}
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED),
]
RULES = sorted((ROOT / "rules").glob("XD*.yaml"))
#: A pattern -> what to write instead.
CONSTRUCTIONS = {
    r"\b(tell|tells|told|telling) of\b": "reports, shows or records",
    r"\b(nothing|something|anything) tells\b": "if it is unknown",
    r"\btells? (apart|it apart|them apart)\b": "distinguish",
    r"\btells? (which|what|how|when|where|why|whether)\b": "shows, says",
    r"\bbut for\b": "except",
    r"\bis there already\b": "already exists",
    r"\b(is|are|be) told\b": "is known, is recorded, can be distinguished",
    r"\btold apart\b": "distinguished",
    r"\bhears? of\b": "is called with, receives",
    r"\bof (which|whom) is known\b": "whose … is known",
    r"\bthat of (that|those)\b": "name the thing again",
    r"\bthose of (them|these|those)\b": "name the things again",
    r"\bwhose [^.,;:]* (is|are|was|were) none\b": "without …",
    r"\bwere nothing\b": "were not …",
    r"\bturns? of (a|the) loop\b": "iteration",
    r"^(Those|That) (of|that|which)\b": "a subject: the steps of …",
    r"\b(is|are) believed\b": "is used",
    r"\bforetold\b": "predicted",
    r"\bnobody knows\b": "is unknown",
}
#: The same for what users read: pages, and texts of rules, vocabularies and messages.
PHRASES = {
    r"\banew\b": "again, new",
    r"\b(graph|process|program|record|thread|function) of (its|their) own\b": "a separate …",
    r"\bby (itself|themselves)\b": "alone, separately, automatically",
    r"\bfor (want|lack) of\b": "without, because there is no",
    r"\babove all\b": "especially",
    r"\b(at times|now and then)\b": "sometimes, occasionally",
    r"\bhas not\b(?! \w+(ed|un|wn|en)\b)": "lacks",
    r"\b[Tt]ak(e|es|en|ing) [^.,;:]{1,40} (out of|away)\b(?! service)": "remove …",
    r"\b[Tt]ake (it|the \w+) out\b(?! of service)": "remove …",
    r"\ball the same\b": "anyway, still",
    r"\bthe very\b": "exactly the",
    r"\bhand(s|ed)?( \w+)? over\b": "launch, pass",
    r"\b(go|goes|going) through (a|the|its) (\w+'s )?(values|rows|loop|tensor)\b": "loop over",
    r"\bBegin (a|the|it|with|state|them)\b": "Start …",
    r"\b(begins?|Begin \w+) as\b": "starts as",
    r"\bNot \w+ is\b": "It is not …",
    r"\b(mask what (is|was) added|added rows)\b": "the padding",
    r"\bof (its |their )?full size\b": "full-size …",
    r"\bas it should be\b": "normal, fine",
    r"\b([Ee]ach|[Ee]very|one) turn\b(?!\()": "iteration",
    r"\b([Mm]end|mends|mended)\b": "fix",
    r"\b(cures?|cured) (it|the)\b": "fixes",
    r"\bsome (\d|ten\b|forty\b|hundred\b|four to)": "about …, a few hundred",
    r"\bfor ever\b": "forever",
    r"\b[Ff]oreign code\b": "native code",
    r"\b(nothing|would|does not|do not) tells?\b": "show, say",
    r"\bno more[.,;:]": "nothing else, no longer",
    r"\b[Ii]t relies on\b": "assumes",
    r"\bHave (?!all keys)\w+ \w+": "Let …, make …",
    r"\b(another|other) \w+ than\b": "different",
    r"\b(is|was|were) (another|others)(?= in each|[.,;:])": "changed, differs",
}
#: Keys of rules without prose.
_NO_TEXT = {"name", "before", "after", "references", "cases"}
#: A noun that JAX does not have.
LAUNCH = r"\b(a|an|each|per|one|\d+) launch(es)?\b"
_BLOCKS = re.DOTALL | re.MULTILINE
_LEFT_OUT = re.compile(
    r"^( *)```.*?^\1```$|^<!-- (\w+): generated -->.*?^<!-- end of \2 -->$", _BLOCKS
)
#: A mark (a bullet, say), then text up to an empty line or the next mark.
_BLOCK = re.compile(
    r"^ *(?:- |\| |\d+\. |#+ |> )?(\S.*?)(?=\n\s*(?:\n|- |\||\d+\. |#|>)|\Z)", _BLOCKS
)


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings and blocks of comments, each with its first line, as running text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, " ".join(text.split())
    block: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            block.append((token.start[0], token.string.lstrip("#: ")))
        elif token.type != tokenize.NL and block:
            yield block[0][0], " ".join(text for _, text in block)
            block = []


def page_prose(page: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items and rows of a page in Markdown, each with its first line.

    Code blocks are left out, and so is what is generated.
    """
    page = _LEFT_OUT.sub(lambda found: "\n" * found[0].count("\n"), page)
    for block in _BLOCK.finditer(page):
        yield page.count("\n", 0, block.start(1)) + 1, " ".join(block[1].split())


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Texts in code, each with its first line; what is filled in is ``…``."""
    tree = ast.parse(source)
    inside = set[int]()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                inside.add(id(docstring))
            case ast.JoinedStr(values=values):
                inside.update(id(value) for value in values)
                parts = [each.value if isinstance(each, ast.Constant) else "…" for each in values]
                yield node.lineno, "".join(map(str, parts))
            case ast.Constant(value=str(text)) if id(node) not in inside:
                yield node.lineno, text


def yaml_texts(source: str) -> Iterator[tuple[int, str]]:
    """Texts of a rule or a vocabulary, each with its first line; code and comments are left out."""
    nodes = [yaml.compose(source)]
    while nodes:
        match nodes.pop():
            case yaml.MappingNode(value=pairs):
                nodes += [value for key, value in pairs if key.value not in _NO_TEXT]
            case yaml.SequenceNode(value=items):
                nodes += items
            case yaml.ScalarNode(value=text, style=style, start_mark=mark):
                yield mark.line + 1 + (style == "|"), re.sub(r"--.*", "", text)


def faults(texts: Iterator[tuple[int, str]], wrong: Mapping[str, str] = CONSTRUCTIONS) -> list[str]:
    return [
        f"line {line + text.count(chr(10), 0, found.start())}: “{found[0]}” ({instead})"
        for line, text in texts
        for pattern, instead in wrong.items()
        if (found := re.search(pattern.replace(" ", r"\s+"), text))
    ]


def test_no_construction_that_has_to_be_decoded() -> None:
    wrong = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if (lines := faults(prose(path.read_text(encoding="utf-8"))))
    }
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_has_to_be_decoded(page: Path) -> None:
    wrong = CONSTRUCTIONS | PHRASES
    assert faults(page_prose(page.read_text(encoding="utf-8")), wrong) == []


def test_texts_for_users_are_plain() -> None:
    wrong = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.yaml"), *RULES]):
        source = path.read_text(encoding="utf-8")
        texts = messages(source) if path.suffix == ".py" else yaml_texts(source)
        if lines := faults(texts, PHRASES):
            wrong[str(path.relative_to(ROOT))] = lines
    assert wrong == {}


def test_rules_for_jax_have_no_launches() -> None:
    """What is called there is a function ("call" in its vocabulary); it does launch programs."""
    alone = [path for path in RULES if "frontend: [jax]" in path.read_text(encoding="utf-8")]
    texts = {path.name: yaml_texts(path.read_text(encoding="utf-8")) for path in alone}
    wrong = {LAUNCH: vocabularies()["jax"].words["launch"]}
    assert {name: lines for name, each in texts.items() if (lines := faults(each, wrong))} == {}


def test_the_glossary_has_the_nouns_of_each_framework() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for name, vocabulary in vocabularies().items():
        if "captured" in vocabulary.traits:
            nouns = ("tensor", "graph", "launch", "input", "compiled")
            row = " | ".join(in_words(f"{{{{ words.{noun} }}}}", name) for noun in nouns)
            assert f" | {row} |" in text


@pytest.mark.parametrize(
    "source",
    [
        '"""Those of the loop."""',
        '"""What a log tells\nof it."""',
        "# Sites whose steps\n# were none.\nx = 1\n",
        "x = 1  # reads of which is known what launched them\n",
        'class A:\n    """Lines, where nothing tells them."""',
    ],
)
def test_a_construction_is_found_wherever_it_stands(source: str) -> None:
    assert faults(prose(source))


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("# Title\n\nIt is a run whose gap is\ntold at the end.\n", 3),
        ("Steps:\n\n- the first\n- Those of the loop\n", 4),
        ("| a | b |\n| --- | --- |\n| x | what a log tells of it |\n", 3),
    ],
)
def test_a_construction_is_found_wherever_it_stands_in_a_page(page: str, line: int) -> None:
    (fault,) = faults(page_prose(page))
    assert fault.startswith(f"line {line}: ")


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (messages('def f():\n    """Made anew."""\n    return f"{x} is made" " anew"\n'), 3),
        (yaml_texts("why: |\n  It is\n  made anew.\n"), 3),
        (yaml_texts("query: SELECT 1 -- anew\nper_frontend: {jax: {fix: Made anew.}}\n"), 2),
    ],
)
def test_a_phrase_is_found_in_texts_alone(texts: Iterator[tuple[int, str]], line: int) -> None:
    (fault,) = faults(texts, PHRASES)
    assert fault == f"line {line}: “anew” (again, new)"


def test_code_and_generated_parts_of_a_page_are_left_out() -> None:
    page = "```\nwhat it is told\n```\n\n<!-- keys: generated -->\nforetold\n<!-- end of keys -->\n"
    assert faults(page_prose(page)) == []
