"""Which configuration is in force: the store's newest, unless a process declares a new one."""

import logging

import pytest

from headstart.errors import LogError, OptionError
from headstart.serve import Engine, load_config
from tests.serve.experiments import CONTEXTS, Clock, make_config, make_log


def open_engine(address, **settings):
    return Engine.open(make_config(address, **settings), clock=Clock())


def declared(engine):
    """Bodies of the configurations so far."""
    return [event.body for event in engine.events("ads") if event.kind == "configuration"]


def test_an_old_replica_that_restarts_does_not_put_its_configuration_back(address, caplog):
    open_engine(address, epsilon=0.1).close()
    open_engine(address, epsilon=1.0).close()
    with open_engine(address, epsilon=0.1) as old:
        assert [body["epsilon"] for body in declared(old)] == [0.1, 1.0]
        assert old.decide("ads").probabilities == (0.5, 0.5)
    said = [record for record in caplog.records if "is an old one" in record.message]
    assert [record.levelno for record in said] == [logging.WARNING]
    assert "set experiments.ads.revision = 1 to go back" in said[0].message


def test_the_newest_configuration_is_not_recorded_again(address):
    open_engine(address, epsilon=0.1).close()
    open_engine(address, epsilon=0.2).close()
    with open_engine(address, epsilon=0.2) as engine:
        assert len(declared(engine)) == 2


def test_a_higher_revision_is_recorded_though_its_content_is_old(address):
    open_engine(address, epsilon=0.1).close()
    open_engine(address, epsilon=1.0).close()
    with open_engine(address, epsilon=0.1, revision=1) as engine:
        assert [(body["epsilon"], body.get("revision", 0)) for body in declared(engine)] == [
            (0.1, 0),
            (1.0, 0),
            (0.1, 1),
        ]


def test_a_lower_revision_is_never_recorded(address, caplog):
    open_engine(address, epsilon=0.1, revision=2).close()
    with open_engine(address, epsilon=0.7) as engine:
        assert [body["epsilon"] for body in declared(engine)] == [0.1]
    assert "this process has revision 0 of its configuration" in caplog.text
    with open_engine(address, epsilon=0.7, revision=2) as engine:  # the same revision with another content is new
        assert [body["epsilon"] for body in declared(engine)] == [0.1, 0.7]


def test_an_experiment_without_a_revision_is_recorded_as_before_there_were_any(address):
    with open_engine(address) as engine:
        assert "revision" not in declared(engine)[0]


def test_another_order_of_contexts_is_another_configuration(address):
    open_engine(address, contexts={"b": "number", "a": "number"}).close()
    with open_engine(address, contexts={"a": "number", "b": "number"}) as engine:
        assert [list(body["contexts"]) for body in declared(engine)] == [["b", "a"], ["a", "b"]]


def test_an_old_log_does_not_come_back(tmp_path, caplog):
    """Of two machines with the same configuration, one has the rows of last week."""
    address = str(tmp_path / "events.sqlite")
    settings = {"contexts": CONTEXTS, "evaluator": "IPSWeighting"}
    old, new = make_log(seed=1), make_log(seed=2)
    open_engine(address, log=old, **settings).close()
    with open_engine(address, log=new, **settings) as engine:
        hashes = [event.body["hash"] for event in engine.events("ads") if event.kind == "warm_start"]
        assert len(set(hashes)) == 2
        with pytest.raises(LogError, match="hand it over again"):  # it cannot fold what it has not
            open_engine(address, log=old, **settings)
        assert "is an old one" in caplog.text
        assert engine.last_event("ads", "warm_start").body["hash"] == hashes[1]
    with open_engine(address, log=old, revision=1, **settings) as engine:
        assert engine.last_event("ads", "warm_start").body["hash"] == hashes[0]


def test_an_old_configuration_with_a_log_in_memory_follows_the_newest(address):
    settings = {"contexts": CONTEXTS, "evaluator": "IPSWeighting", "log": make_log()}
    open_engine(address, epsilon=0.1, **settings).close()
    with open_engine(address, epsilon=1.0, **settings) as new, open_engine(address, epsilon=0.1, **settings) as old:
        assert old.fingerprint("ads") == new.fingerprint("ads")


def test_two_that_declare_the_same_at_once_record_it_once(address):
    """The second looks again within its turn of writing."""
    config = load_config({"store": address, "experiments": {"ads": {"actions": ["a", "b"]}}})
    with Engine.open(config) as one, Engine.open(config) as other:
        assert len(declared(one)) == 1
        one.decide("ads", event_id="u")
        assert other.decide("ads", event_id="u") == one.decide("ads", event_id="u")


def unseeded(address, **settings):
    table = {"actions": ["video", "image"], "oracle": "ThompsonBeta", **settings}
    return Engine.open(load_config({"store": address, "experiments": {"ads": table}}))


def test_nobody_can_choose_the_draws_of_an_experiment_without_a_seed(address, another):
    """The same id is another draw in another store, and the seed is one of 2 ** 63."""
    seeds = []
    for store in (address, another):
        with unseeded(store, epsilon=1.0) as engine:
            seeds.append(declared(engine)[0]["seed"])
    assert len(set(seeds)) == 2
    assert all(seed > 2**32 for seed in seeds)  # false in one of 2 ** 30 runs


def test_a_random_seed_is_kept_for_life(address):
    with unseeded(address) as engine:
        seed = declared(engine)[0]["seed"]
    with unseeded(address) as engine:
        assert len(declared(engine)) == 1
    with unseeded(address, epsilon=0.3) as engine:
        assert [body["seed"] for body in declared(engine)] == [seed, seed]
    with unseeded(address) as engine:  # an old configuration, whatever its seed
        assert len(declared(engine)) == 2


def test_a_seed_that_was_declared_is_kept_when_it_is_left_out(address):
    unseeded(address, seed=7).close()
    with unseeded(address) as engine:
        assert [body["seed"] for body in declared(engine)] == [7]


def test_the_old_default_seed_lasts_until_the_next_configuration(address):
    """Stores from before hold 0, which everybody knows: opening one records nothing, the next change draws one."""
    unseeded(address, seed=0).close()
    with unseeded(address) as engine:
        assert [body["seed"] for body in declared(engine)] == [0]
    with unseeded(address, epsilon=0.3) as engine:
        assert declared(engine)[1]["seed"] > 2**32


@pytest.mark.parametrize("name", ["seed", "revision"])
def test_whole_numbers_are_checked(name):
    with pytest.raises(OptionError, match=f"experiments.ads.{name} must be a whole number of at least 0, got -1"):
        make_config("x.sqlite", **{name: -1})
