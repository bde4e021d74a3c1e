"""What the package exports, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from importlib.resources import files
from itertools import chain
from types import ModuleType

import pytest

import headstart as hs
from headstart import errors
from headstart.extras import EXTRAS


@pytest.mark.parametrize(
    "package", ["headstart.oracles", "headstart.evaluators", "headstart.worlds", "headstart.kernels"]
)
def test_all_is_what_the_package_exports(package: str):
    module = importlib.import_module(package)
    exported = {
        name for name, value in vars(module).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    named = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
    assert named == exported
    assert len(module.__all__) == len(set(module.__all__))


def test_type_checkers_are_told_of_the_same_names_from_the_same_places():
    stub = ast.parse(files("headstart").joinpath("__init__.pyi").read_text())
    told = {
        name.name: statement.module
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    }
    assert sorted(told) == sorted(hs.__all__)
    assert len(hs.__all__) == len(set(hs.__all__))
    for name, module in told.items():
        importlib.import_module(f"{module}.{name}" if isinstance(getattr(hs, name), ModuleType) else module)
        assert getattr(sys.modules[module], name) is getattr(hs, name)
    assert next(ast.literal_eval(each.value) for each in stub.body if isinstance(each, ast.Assign)) == hs.__all__


def test_a_name_that_is_not_there_is_missed_as_of_any_module():
    with pytest.raises(AttributeError, match="module 'headstart' has no attribute 'Bandit'"):
        hs.Bandit  # noqa: B018
    assert set(hs.__all__) < set(dir(hs))


@pytest.mark.parametrize("package", [hs, hs.oracles, hs.evaluators, hs.worlds])
def test_all_is_sorted(package: ModuleType):
    """Constants, then classes, then the rest, each by the alphabet (ruff's isort-style order)."""

    def kind(name: str) -> int:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert list(package.__all__) == sorted(package.__all__, key=lambda name: (kind(name), name))


def test_modules_in_all_are_there():
    for name in hs.__all__:
        assert getattr(hs, name) is not None


def _imported_by(code: str) -> set[str]:
    """The modules of a new process that has run this."""
    code = f"import sys; {code}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_no_room():
    assert {each for each in _imported_by("import headstart") if each.startswith(("headstart", "numpy"))} == {
        "headstart"
    }


def test_all_names_of_the_package_come_without_the_heavy_libraries():
    """scipy's own core comes with numba; what it and the extras bring is imported where it is needed."""
    heavy = {"sklearn", "joblib", "scipy.stats", "scipy.special", "pandas", *chain(*EXTRAS.values())}
    assert not heavy & _imported_by("from headstart import *")


def test_every_error_is_in_the_tree_and_in_its_drawing():
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    for error in classes:
        assert issubclass(error, errors.HeadstartError)
        assert error.__name__ in errors.__doc__
        if error is errors.MissingExtraError:
            assert issubclass(error, ImportError)
        elif error is not errors.HeadstartError:
            assert issubclass(error, ValueError)


def test_a_missing_extra_says_how_to_get_it():
    assert str(errors.MissingExtraError("xgboost", "xgboost")) == (
        "xgboost is not installed: pip install 'headstart[xgboost]'"
    )


def test_the_package_is_typed_and_has_a_version():
    from importlib.metadata import version

    assert files("headstart").joinpath("py.typed").is_file()
    assert hs.__version__ == version("headstart")
