"""The house rules that no linter knows, each with what to do instead.

A rule is a generator of complaints about one parsed file; a table of small offences shows that
every rule can fail. The product, the tests and the tools keep the same rules; the engine keeps
more, because its decisions must be exact, pure and the same in every process.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGINE = "admission/muster/admission/"
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# The ratchet: what may be longer, how long, and why it does not split well. Numbers only go down.
# Keys are a path, or a path and a function: "queue/muster/queue/x.py" or "...x.py:f".
LONGER: dict[str, int] = {}

# What the engine may import besides itself: values, containers, exact arithmetic.
ENGINE_IMPORTS = (
    "__future__",
    "abc",
    "bisect",
    "collections",
    "dataclasses",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "math",
    "operator",
    "types",
    "typing",
)

SETS = "sets of strings iterate in another order each run: use dict.fromkeys() or a sorted tuple"
FLOATS = "quota arithmetic is exact: use integers or fractions.Fraction"
CLOCKS = "take `now` as an argument"
ENGINE_CALLS = {
    "now": CLOCKS,
    "today": CLOCKS,
    "utcnow": CLOCKS,
    "print": "return a value; the caller decides what to show",
    "open": "take the value as an argument",
    "hash": "hash(str) differs in each process: use the value itself",
    "id": "addresses differ in each process: use a key of the value",
    "set": SETS,
    "frozenset": SETS,
    "float": FLOATS,
}

# What runs on any clock, and the same way in every run.
SIMULABLE = tuple(
    f"queue/muster/queue/{part}/"
    for part in (
        "client",
        "sandbox/api",
        "sandbox/kinds",
        "sandbox/ownership",
        "sandbox/patches",
        "sandbox/schema",
        "sandbox/store",
        "simulated",
    )
)

# Text that must not be committed: each is a secret of one machine.
FOREIGN_TEXT = {
    "address of a package index": re.compile(
        r"(?<!no-emit-)index-url\b|pypi[.]org/simple|pythonhosted[.]org"
    ),
    "path of one machine": re.compile(r"(?<![\w.~-])/(?:work|root|home/\w+)/"),
}


@dataclass(frozen=True)
class Module:
    """One Python file of the repository."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def nodes(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)

    @property
    def in_engine(self) -> bool:
        return self.path.startswith(ENGINE)

    @property
    def in_tests(self) -> bool:
        return self.path.startswith("tests/")


Rule = Callable[[Module], Iterator[str]]


def names_hide_nothing(module: Module) -> Iterator[str]:
    path = Path(module.path)
    if module.path == "queue/__init__.py" or path.parts[-2:] == ("muster", "__init__.py"):
        yield "`queue` is the standard library's and `muster` a namespace: delete this file"
    if path.stem in sys.stdlib_module_names:
        yield f"hides the standard library's `{path.stem}`: rename it"


def says_what_it_is_for(module: Module) -> Iterator[str]:
    if not ast.get_docstring(module.tree):
        yield "no module docstring: say what the module decides and what it never does"


def fits_in_the_head(module: Module) -> Iterator[str]:
    for name, lines, guide in sizes(module):
        limit = LONGER.get(name, guide)
        if lines > limit:
            what = name.removeprefix(module.path).lstrip(":") or "the file"
            yield f"{what} has {lines} lines, more than {limit}: split it by idea"


def engine_imports_are_pure(module: Module) -> Iterator[str]:
    for node in module.nodes if module.in_engine else ():
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom(level=0):
                names = [node.module or ""]
            case ast.ImportFrom():
                names = []
                yield f"line {node.lineno}: relative import: write the full name"
            case _:
                continue
        for name in names:
            if name.split(".")[0] not in ENGINE_IMPORTS and not f"{name}.".startswith(
                "muster.admission."
            ):
                yield f"line {node.lineno}: imports {name}: the engine only computes"


def engine_is_exact_and_repeatable(module: Module) -> Iterator[str]:
    for node in module.nodes if module.in_engine else ():
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in ENGINE_CALLS:
                yield f"line {node.lineno}: {name}(): {ENGINE_CALLS[name]}"
            case ast.Call(func=ast.Attribute(attr="now" | "today" | "utcnow" as name)):
                yield f"line {node.lineno}: {name}(): {CLOCKS}"
            case ast.Set() | ast.SetComp():
                yield f"line {node.lineno}: {SETS}"
            case ast.BinOp(
                left=ast.Call(func=ast.Attribute(attr="keys" | "items")),
                op=ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.Sub(),
            ):
                yield f"line {node.lineno}: an operator on a key view makes a set: {SETS}"
            case ast.Constant(value=float(value)):
                yield f"line {node.lineno}: {value}: {FLOATS}"
            case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
                yield f"line {node.lineno}: `/` may make a float: use `//` or Fraction(a, b)"
            case _:
                pass


def time_and_chance_are_arguments(module: Module) -> Iterator[str]:
    """What can run on virtual time knows no other, and what can be repeated knows no chance."""
    for node in module.nodes if module.path.startswith(SIMULABLE) else ():
        match node:
            case ast.Import(names=[ast.alias(name="time" | "random" | "secrets" as name)]):
                yield f"line {node.lineno}: imports {name}: take a Clock or a Random as an argument"
            case ast.ImportFrom(module="time" | "secrets" as name):
                yield f"line {node.lineno}: imports {name}: take a Clock or a Random as an argument"
            case ast.Attribute(
                value=ast.Name(id="datetime" | "date" | "uuid"),
                attr="now" | "today" | "utcnow" | "uuid1" | "uuid4" as name,
            ):
                yield f"line {node.lineno}: {name}(): take a Clock or a Random as an argument"
            case ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep"):
                yield f"line {node.lineno}: asyncio.sleep: wait on the Clock"
            case _:
                pass


def no_test_waits_or_looks_away(module: Module) -> Iterator[str]:
    for node in module.nodes if module.in_tests else ():
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr="sleep"):
                yield f"line {node.lineno}: time.sleep: wait for the event, or freeze the clock"
            case ast.ImportFrom(module="time") if "sleep" in [alias.name for alias in node.names]:
                yield f"line {node.lineno}: time.sleep: wait for the event, or freeze the clock"
            case ast.Attribute(
                value=ast.Name(id="pytest") | ast.Attribute(attr="mark"),
                attr="skip" | "skipif" | "xfail" | "importorskip" as name,
            ):
                yield f"line {node.lineno}: {name}: repair it, or delete it"
            case _:
                pass


RULES: tuple[Rule, ...] = (
    names_hide_nothing,
    says_what_it_is_for,
    fits_in_the_head,
    engine_imports_are_pure,
    engine_is_exact_and_repeatable,
    time_and_chance_are_arguments,
    no_test_waits_or_looks_away,
)


def files() -> tuple[str, ...]:
    """Every file of the repository, also those not committed yet, relative to its root."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(path for path in listed.split("\0") if (ROOT / path).is_file())


@cache
def modules() -> tuple[Module, ...]:
    return tuple(
        Module(path, (ROOT / path).read_text(encoding="utf-8"))
        for path in files()
        if path.endswith(".py")
    )


def sizes(module: Module) -> Iterator[tuple[str, int, int]]:
    """The lines of the file and of each of its functions: name in the ratchet, lines, guide."""
    yield module.path, module.text.count("\n"), FILE_LINES_MAX
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield f"{module.path}:{node.name}", lines, FUNCTION_LINES_MAX


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule: Rule) -> None:
    complaints = [f"{module.path}: {text}" for module in modules() for text in rule(module)]
    assert not complaints, "\n" + "\n".join(complaints)


def test_ratchet_holds_only_what_is_still_too_long() -> None:
    too_long = [
        name
        for module in modules()
        for name, lines, guide in sizes(module)
        if lines > guide and name in LONGER
    ]
    assert sorted(too_long) == sorted(LONGER), "no longer too long: take it off the ratchet"


def test_no_foreign_text() -> None:
    complaints = []
    for path in files():
        # Lines of text only: a picture has none that decode.
        text = (ROOT / path).read_bytes().decode("utf-8", errors="ignore")
        complaints += [
            f"{path}: {what}: {found.group()!r}"
            for what, pattern in FOREIGN_TEXT.items()
            for found in pattern.finditer(text)
            if path != "tests/test_tidy.py"
        ]
    assert not complaints, "\n" + "\n".join(complaints)


OFFENCES = [
    (names_hide_nothing, "queue/__init__.py", ""),
    (names_hide_nothing, "queue/muster/__init__.py", ""),
    (names_hide_nothing, "admission/muster/__init__.py", ""),
    (names_hide_nothing, "queue/muster/queue/queue.py", ""),
    (names_hide_nothing, "queue/muster/queue/api/json.py", ""),
    (says_what_it_is_for, "queue/muster/queue/x.py", "x = 1"),
    (fits_in_the_head, "queue/muster/queue/x.py", "\n" * (FILE_LINES_MAX + 1)),
    (fits_in_the_head, "tests/x.py", "def f():\n" + "    x = 1\n" * FUNCTION_LINES_MAX),
    (engine_imports_are_pure, ENGINE + "x.py", "import time"),
    (engine_imports_are_pure, ENGINE + "x.py", "from os import path"),
    (engine_imports_are_pure, ENGINE + "x.py", "import muster.queue"),
    (engine_imports_are_pure, ENGINE + "x.py", "from muster.queue.api import quantities"),
    (engine_imports_are_pure, ENGINE + "x.py", "from muster.admissions import x"),
    (engine_imports_are_pure, ENGINE + "x.py", "from . import x"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "clock.now()"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "print(1)"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "hash(x)"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "set(x)"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "x = {1, 2}"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "x = {y for y in z}"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "x = a.keys() - b.keys()"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "x = 0.5"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "float(x)"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "x = a / b"),
    (engine_is_exact_and_repeatable, ENGINE + "x.py", "x /= b"),
    (time_and_chance_are_arguments, SIMULABLE[0] + "x.py", "import time"),
    (time_and_chance_are_arguments, SIMULABLE[0] + "x.py", "from time import monotonic"),
    (time_and_chance_are_arguments, SIMULABLE[0] + "x.py", "datetime.now(UTC)"),
    (time_and_chance_are_arguments, SIMULABLE[0] + "x.py", "uuid.uuid4()"),
    (time_and_chance_are_arguments, SIMULABLE[0] + "x.py", "asyncio.sleep(1)"),
    (no_test_waits_or_looks_away, "tests/x.py", "time.sleep(1)"),
    (no_test_waits_or_looks_away, "tests/x.py", "from time import sleep"),
    (no_test_waits_or_looks_away, "tests/x.py", "pytest.skip('later')"),
    (no_test_waits_or_looks_away, "tests/x.py", "pytest.mark.xfail(f)"),
]


@pytest.mark.parametrize("rule, path, text", OFFENCES)
def test_rule_finds_an_offence(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Module(path, text)))


NAME, TOP = "pypi", "org"
"""Of a package index, apart: this file does not hold what it forbids."""


@pytest.mark.parametrize(
    "text", ["--index-url x", f"https://{NAME}.{TOP}/simple", "/root/x", "/home/me/"]
)
def test_foreign_text_is_found(text: str) -> None:
    assert any(pattern.search(text) for pattern in FOREIGN_TEXT.values())


@pytest.mark.parametrize("text", ["--no-emit-index-url", "docs/root/x", "~/root/x", "/workspace/x"])
def test_innocent_text_is_not(text: str) -> None:
    assert not any(pattern.search(text) for pattern in FOREIGN_TEXT.values())
