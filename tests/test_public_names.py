"""What the package exports, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import headstart as hs
from headstart import errors


@pytest.mark.parametrize(
    "package", ["headstart", "headstart.oracles", "headstart.evaluators", "headstart.worlds", "headstart.kernels"]
)
def test_all_is_what_the_package_exports(package: str):
    module = sys.modules[package] if package in sys.modules else __import__(package, fromlist=["x"])
    exported = {
        name for name, value in vars(module).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    named = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
    assert named == exported
    assert len(module.__all__) == len(set(module.__all__))


@pytest.mark.parametrize("package", [hs, hs.oracles, hs.evaluators, hs.worlds])
def test_all_is_sorted(package: ModuleType):
    """Constants, then classes, then the rest, each by the alphabet (ruff's isort-style order)."""

    def kind(name: str) -> int:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert list(package.__all__) == sorted(package.__all__, key=lambda name: (kind(name), name))


def test_modules_in_all_are_there():
    for name in hs.__all__:
        assert getattr(hs, name) is not None


@pytest.mark.parametrize("heavy", ["sklearn", "matplotlib", "rich", "typer", "pandas", "xgboost", "scipy.stats"])
def test_importing_the_package_does_not_import(heavy: str):
    code = "import sys, headstart; print(*sys.modules, sep='\\n')"
    if not hasattr(test_importing_the_package_does_not_import, "modules"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        test_importing_the_package_does_not_import.modules = set(done.stdout.split())
    assert heavy not in test_importing_the_package_does_not_import.modules


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
    from importlib.resources import files

    assert files("headstart").joinpath("py.typed").is_file()
    assert hs.__version__ == version("headstart")
