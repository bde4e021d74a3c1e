"""Classes of the program that runs are kept by name; what has no name there is kept as numba keeps it."""

import pickle
import sys
from typing import NamedTuple

import pytest
from numba.core import caching

from headstart.kernels.naming import dump_by_name, find_class, is_found_by_name, named_classes


class Ours(NamedTuple):
    value: float


@pytest.fixture
def in_program(monkeypatch):
    """As if the class stood in the program."""
    monkeypatch.setattr(Ours, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Ours", Ours, raising=False)


def test_a_class_is_found_by_name_where_its_module_has_it():
    class Local(NamedTuple):
        value: float

    assert is_found_by_name(Ours)
    assert not is_found_by_name(Local)


def test_a_class_of_the_program_comes_back_as_itself(in_program):
    assert is_found_by_name(Ours)
    assert pickle.loads(dump_by_name((Ours, 1))) == (Ours, 1)


def test_a_class_that_the_program_does_not_have_fits_nothing_and_keeps_its_name(in_program, monkeypatch):
    """A worker reads what the program kept, and writes it down again, beside what it has compiled itself."""
    kept = dump_by_name(Ours)
    monkeypatch.delattr(sys.modules["__main__"], "Ours")
    assert not is_found_by_name(Ours)
    absent = pickle.loads(kept)
    assert absent is not Ours
    assert absent is find_class("Ours")
    again = dump_by_name(absent)
    monkeypatch.setattr(sys.modules["__main__"], "Ours", Ours, raising=False)
    assert pickle.loads(again) is Ours


def test_numba_is_left_as_it_was():
    before = caching.dumps
    with named_classes():
        assert caching.dumps is dump_by_name
    assert caching.dumps is before


def test_a_numba_that_writes_in_another_way_is_left_alone(monkeypatch):
    monkeypatch.delattr(caching, "dumps")
    with named_classes():
        assert not hasattr(caching, "dumps")
