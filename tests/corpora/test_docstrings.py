from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.corpora.docstrings import (
    Docstring,
    package_roots,
    parse_file,
    private_docstrings,
    public_docstrings,
    stdlib_root,
)
from tests.refusals import refuses

LONG = "x" * 130


def source(root: Path, name: str, *texts: str) -> Path:
    """A file with one function a text, so that each text is a docstring."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'def f{i}():\n    """{text}"""\n\n' for i, text in enumerate(texts)), "utf-8")
    return path


def test_names_are_dotted_and_outermost_comes_first(tmp_path):
    path = tmp_path / "pack" / "sub.py"
    path.parent.mkdir()
    path.write_text(
        '"""Module."""\nclass A:\n    """Class."""\n    async def run(self):\n        """Method."""\n'
        '        def inner():\n            """Inner."""\n',
        "utf-8",
    )
    assert list(parse_file(path, tmp_path)) == [
        Docstring("pack.sub", "pack", "Module.", "module"),
        Docstring("pack.sub.A", "pack", "Class.", "class"),
        Docstring("pack.sub.A.run", "pack", "Method.", "method"),
        Docstring("pack.sub.A.run.inner", "pack", "Inner.", "function"),
    ]


def test_an_escape_that_makes_half_a_surrogate_pair_leaves_text(tmp_path):
    (found,) = parse_file(source(tmp_path, "m.py", r"Half \ud83d of a smile."), tmp_path)
    assert found.text == "Half \ufffd of a smile."


def test_the_kind_is_told_by_place_and_decorator(tmp_path):
    written = {
        "def f(): {}": "function",
        "@property\ndef f(): {}": "function",  # outside a class it is no attribute
        "class A:\n def f(self): {}": "method",
        "class A:\n @staticmethod\n def f(): {}": "method",
        "class A:\n @property\n def f(self): {}": "property",
        "class A:\n @functools.cached_property\n def f(self): {}": "property",
        "class A:\n @registered(property)\n def f(self): {}": "method",
        "class A:\n class B: {}": "class",
        "def f():\n class B: {}": "class",
    }
    path = tmp_path / "m.py"
    for source, kind in written.items():
        path.write_text(source.format('"""Said."""'), "utf-8")
        assert [doc.kind for doc in parse_file(path, tmp_path)] == [kind], source


def test_a_package_is_named_without_its_init(tmp_path):
    path = tmp_path / "pack" / "__init__.py"
    path.parent.mkdir()
    path.write_text('"""Package."""', "utf-8")
    assert next(parse_file(path, tmp_path)) == Docstring("pack", "pack", "Package.", "module")


@pytest.mark.parametrize(
    "content", [b'"""not python""" def', b'"""caf\xe9"""', b"x = 1\n", b'"""null\x00byte"""', b'"""Bad \\d escape"""']
)
def test_files_that_are_not_valid_python_yield_nothing_and_warn_nobody(tmp_path, content, recwarn):
    path = tmp_path / "m.py"
    path.write_bytes(content)
    found = list(parse_file(path, tmp_path))
    assert [doc.text for doc in found] == (["Bad \\d escape"] if b"escape" in content else [])
    assert not recwarn.list


def test_parsing_never_imports_or_runs(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(f'"""{LONG}"""\nopen({str(tmp_path / "ran")!r}, "w")\n', "utf-8")
    assert len(private_docstrings(tmp_path, min_chars=120)) == 1
    assert not (tmp_path / "ran").exists()


def test_private_text_is_long_distinct_and_not_somebody_elses(tmp_path):
    source(tmp_path, "b.py", LONG + " b", "short")
    source(tmp_path, "a.py", LONG + " a", LONG + " b")
    for skipped in ("site-packages/p.py", "test/t.py", "email/test/t.py", "idlelib/i.py", "__pycache__/c.py"):
        source(tmp_path, skipped, f"{LONG} {skipped}")
    found = private_docstrings(tmp_path, min_chars=120)
    assert [(doc.name, doc.text) for doc in found] == [("a.f0", LONG + " a"), ("a.f1", LONG + " b")]
    exactly = private_docstrings(tmp_path, min_chars=len(LONG) + 2)
    assert exactly == []


def test_a_first_paragraph_is_one_line_and_is_what_must_be_long_and_distinct(tmp_path):
    source(tmp_path, "a.py", "Close the file,\n    and what it holds.\n  \n    All of it.", "Close the file.")
    source(tmp_path, "b.py", "Close the file.\n\n    Again.", "Close\n\n    Long enough, but not here.")
    texts = ["Close the file, and what it holds.", "Close the file."]
    found = private_docstrings(tmp_path, min_chars=6, first_paragraph=True)
    assert [(doc.name, doc.text) for doc in found] == [("a.f0", texts[0]), ("a.f1", texts[1])]
    public = public_docstrings(
        [tmp_path], min_chars=6, max_texts=None, max_chars_per_package=10**6, first_paragraph=True
    )
    assert {doc.text for doc in public} == set(texts)


def test_public_text_leaves_out_tests_and_copies_of_the_standard_library(tmp_path):
    source(tmp_path, "pack/m.py", LONG + " kept")
    for skipped in ("setuptools/s.py", "typing_extensions.py", "pack/tests/t.py", "pack/_vendor/v.py", "fedtext/f.py"):
        source(tmp_path, skipped, f"{LONG} {skipped}")
    found = public_docstrings([tmp_path], min_chars=120, max_texts=None, max_chars_per_package=10**6)
    assert [doc.text for doc in found] == [LONG + " kept"]


def test_public_limits(tmp_path):
    for package in "abcd":
        for module in range(5):
            source(tmp_path, f"{package}/m{module}.py", f"{LONG} {package} {module}", f"{LONG} common")

    def found(max_texts: int | None, chars: int = 10**6) -> list[Docstring]:
        return public_docstrings([tmp_path], min_chars=120, max_texts=max_texts, max_chars_per_package=chars)

    everything = found(None)
    assert len(everything) == 21  # the common text counts once
    assert found(7) == everything[:7]  # a smaller demand is a prefix: nested sets of public texts
    assert len({doc.package for doc in everything[:8]}) > 1  # and a mixture, not the first package
    per_package = [doc.package for doc in found(None, chars=300)]
    assert max(map(per_package.count, "abcd")) <= 3
    assert found(0) == []


def test_the_running_interpreter_has_what_its_documentation_says():
    """The offline corpus is really there: documented modules of the standard library, none from site-packages."""
    root = stdlib_root()
    found = private_docstrings(root / "json", min_chars=120)
    assert {"JSONEncoder", "JSONDecoder"} <= {doc.name.split(".")[-1] for doc in found}
    assert all(len(doc.text) > 120 for doc in found)


@pytest.mark.slow
def test_the_standard_library_holds_thousands_of_documented_objects():
    found = private_docstrings(stdlib_root(), min_chars=120)
    assert 2500 < len(found) < 6000
    assert len({doc.text for doc in found}) == len(found)
    assert len({doc.package for doc in found}) > 100
    assert not {doc.package for doc in found} & {"numpy", "torch", "pip", "setuptools"}


def test_packages_that_an_environment_only_sees_are_read_too(tmp_path, monkeypatch):
    """As of --system-site-packages, of a .pth file, of PYTHONPATH; a checkout on the import path is no package."""
    own, seen, checkout = (tmp_path / name for name in ("own", "seen", "checkout"))
    own.mkdir()
    source(seen, "pack/a.py", LONG)
    (seen / "pack-1.0.dist-info").mkdir()
    source(checkout, "work.py", LONG + "!")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(own))
    monkeypatch.setattr("sys.path", [str(checkout), str(own), str(seen), str(seen / "pack"), ""])
    assert package_roots() == [own, seen]
    (found,) = public_docstrings(package_roots(), min_chars=120, max_texts=None, max_chars_per_package=10**6)
    assert found.name == "pack.a.f0"


def test_a_package_that_is_a_link_is_read_once_and_of_two_copies_the_imported_one(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    source(tmp_path / "elsewhere", "a.py", LONG)
    one.mkdir()
    (one / "pack").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "again").symlink_to(one)
    source(other, "pack/a.py", LONG + "?")
    found = public_docstrings([one, other], min_chars=120, max_texts=None, max_chars_per_package=10**6)
    assert [(doc.name, doc.text) for doc in found] == [("pack.a.f0", LONG)]


def test_no_docstring_at_all_is_refused_by_name(tmp_path):
    with refuses("no-docstrings"):
        public_docstrings([tmp_path], min_chars=120, max_texts=None, max_chars_per_package=10**6)
