"""A policy is a file: it has the same future in another process, and a file that is not one is refused."""

import functools
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import headstart as hs
from headstart.errors import CannotBeSaved, PolicyFileError
from headstart.parts.files import digest_of, save
from tests.catalogue import LOG, ORACLES, POLICIES, K

EVERY = {**ORACLES, **POLICIES}


def live(policy, start, stop):
    """The actions of some users, each learnt from at once."""
    contexts = np.random.default_rng(1).normal(size=(stop, 6))
    d = getattr(policy, "n_features", 0) or 0
    played = []
    for i in range(start, stop):
        context = contexts[i, :d] if d else None
        action = policy.play(context)
        policy.update(context, action, float((7 * i + action) % 2))
        played.append(action)
    return played


@pytest.mark.parametrize("name", EVERY)
def test_a_policy_from_a_file_has_the_same_future(name, tmp_path):
    policy = EVERY[name](3)
    live(policy, 0, 12)
    save(policy, tmp_path / "policy")
    again = hs.load(tmp_path / "policy")
    assert type(again) is type(policy)
    assert live(again, 12, 30) == live(policy, 12, 30)
    assert digest_of(again) == digest_of(policy)


def test_the_same_policy_is_the_same_bytes_and_another_state_another_digest_of(tmp_path):
    for name in ("one", "two"):
        hs.start(LOG, rng=1).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    policy = hs.start(LOG, rng=1)
    before = digest_of(policy)
    policy.update(None, 0, 1.0)
    assert digest_of(policy) != before


def named_log(n=300):
    rng = np.random.default_rng(0)
    contexts = {"age": rng.normal(40, 9, n), "city": rng.choice(["north", "south"], n)}
    return hs.Log(rng.choice(["mail", "call, later"], n), rng.random(n), contexts, np.full(n, 0.5))


def test_users_by_name_are_decided_in_another_process_without_the_log(tmp_path):
    policy = hs.start(named_log(), decide_on=["age", "city"], rng=2)
    policy.save(tmp_path / "policy")
    user = {"age": 31.0, "city": "south"}
    code = f"""
import headstart as hs
policy = hs.load({str(tmp_path / "policy")!r})
print([policy.play({user!r}) for _ in range(20)])
print(policy.probabilities({user!r}))
policy.expect([31.0, 0.0, 1.0], 0)
policy.release([31.0, 0.0, 1.0], 0)
policy.update({user!r}, "mail", 0.5)
print(policy.explanation)
print(policy.audit.verdict.decision, policy.summary.means.tolist(), policy.trust.weights.tolist())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = done.stdout.split("\n", 2)
    assert told[0] == str([policy.play(user) for _ in range(20)])
    assert told[1] == str(policy.probabilities(user))
    assert policy.explanation in told[2]
    last = told[2].strip().splitlines()[-1]
    assert last.startswith(policy.audit.verdict.decision)
    assert str(policy.summary.means.tolist()) in last


def test_a_policy_of_another_log_is_refused(tmp_path):
    log = named_log()
    hs.start(log, rng=0).save(tmp_path / "policy")
    assert hs.load(tmp_path / "policy", log=log).n_actions == 2
    with pytest.raises(PolicyFileError, match="comes from another log: it has 300 rows"):
        hs.load(tmp_path / "policy", log=named_log(299))
    with pytest.raises(PolicyFileError, match="another log: its actions are"):
        hs.load(tmp_path / "policy", log=LOG)
    hs.UCB(2).save(tmp_path / "bare")
    with pytest.raises(PolicyFileError, match="does not say which log"):
        hs.load(tmp_path / "bare", log=log)


def test_a_warm_start_goes_on_with_what_is_left_of_its_log(tmp_path):
    policy = hs.WarmStart(hs.ABTest(K, rng=0), hs.IPSWeighting(LOG), rng=0)
    policy.play()
    before = int(policy.virtual_plays.sum())
    policy.save(tmp_path / "policy")
    again = hs.load(tmp_path / "policy", log=LOG)
    live(policy, 0, 25)
    live(again, 0, 25)
    assert again.virtual_plays.tolist() == policy.virtual_plays.tolist()
    assert again.virtual_plays.sum() > before


class Mine:
    """An oracle of a user's own."""

    def __init__(self):
        self.n_actions, self.counts = 2, np.zeros(2)

    def play(self, context, available=None):
        return 0

    def update(self, context, action, outcome):
        self.counts[action] += 1.0

    def probabilities(self, context, available=None):
        return np.array([1.0, 0.0])


def test_an_oracle_of_ones_own_is_saved_if_its_class_is_given(tmp_path):
    mine = Mine()
    mine.update(None, 1, 0.0)
    with pytest.raises(CannotBeSaved, match="Mine, which is no part of headstart"):
        save(mine, tmp_path / "policy")
    save(mine, tmp_path / "policy", parts=[Mine])
    with pytest.raises(PolicyFileError, match="no part of headstart; if it is yours"):
        hs.load(tmp_path / "policy")
    assert hs.load(tmp_path / "policy", parts=[Mine]).counts.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: hs.EpsilonForest(2, 1, epsilon=lambda t: 0.1, rng=0),
        lambda: hs.WarmStart(hs.UCB(K), hs.OutcomeModel(LOG, DecisionTreeRegressor()), rng=0),
    ],
    ids=["a function", "a model of scikit-learn"],
)
def test_what_cannot_be_saved_says_so_and_the_old_file_stays(make, tmp_path):
    (tmp_path / "policy").write_bytes(b"what was here")
    with pytest.raises(CannotBeSaved, match="cannot be written to a policy file"):
        make().save(tmp_path / "policy")
    assert (tmp_path / "policy").read_bytes() == b"what was here"
    assert os.listdir(tmp_path) == ["policy"]


def rewrite(path, change_document=None, change_arrays=None, compression=zipfile.ZIP_STORED):
    """A policy file written again beside it, with its document or its arrays changed."""
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("policy.json"))
        arrays = {name: archive.read(name) for name in archive.namelist()[1:]}
    if change_document is not None:
        change_document(document)
    if change_arrays is not None:
        change_arrays(arrays)
    with zipfile.ZipFile(path.with_name("changed"), "w", compression) as archive:
        archive.writestr("policy.json", json.dumps(document))
        for name, content in arrays.items():
            archive.writestr(name, content)
    return path.with_name("changed")


@pytest.fixture
def written(tmp_path):
    """A way to write a policy file that is changed."""
    hs.LinUCB(3, 2).save(tmp_path / "policy")
    return functools.partial(rewrite, tmp_path / "policy")


def as_npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def test_a_file_of_another_version_is_refused(written):
    with pytest.raises(PolicyFileError, match="of version 7; this headstart reads version 1"):
        hs.load(written(lambda document: document.update(version=7)))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_cut_file_is_refused(share, tmp_path):
    hs.start(LOG, rng=0).save(tmp_path / "policy")
    whole = (tmp_path / "policy").read_bytes()
    (tmp_path / "policy").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(PolicyFileError, match="not a policy file, or a cut or damaged one"):
        hs.load(tmp_path / "policy")


def test_a_bit_that_was_changed_is_noticed_or_changes_nothing(tmp_path):
    """A zip has bytes that nobody reads (a time, say); all others are under its checksums."""
    hs.UCB(3).save(tmp_path / "policy")
    kept, whole = digest_of(hs.load(tmp_path / "policy")), (tmp_path / "policy").read_bytes()
    refused = 0
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        (tmp_path / "policy").write_bytes(changed)
        try:
            assert digest_of(hs.load(tmp_path / "policy")) == kept, place
        except PolicyFileError:
            refused += 1
    assert refused > 0.8 * len(whole) / 3


class Hostile:
    def __reduce__(self):
        return os.system, ("touch was-run",)


def test_foreign_and_hostile_files_are_refused_and_nothing_runs(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile = pickle.dumps(Hostile())
    objects = as_npy(np.array([Hostile()], dtype=object), allow_pickle=True)
    for content in (b"a,b\n1,2\n", hostile, b""):
        (tmp_path / "foreign").write_bytes(content)
        with pytest.raises(PolicyFileError, match="not a policy file"):
            hs.load(tmp_path / "foreign")
    with pytest.raises(PolicyFileError, match="no such file"):
        hs.load(tmp_path / "nowhere")
    with pytest.raises(PolicyFileError, match=r"arrays/0\.npy: an array of object"):
        hs.load(written(None, lambda arrays: arrays.update({"arrays/0.npy": objects})))
    assert not (tmp_path / "was-run").exists()


def find(node, kind):
    """Every node of this kind in a tree."""
    if isinstance(node, dict):
        if node.get("$") == kind:
            yield node
        for each in node.values():
            yield from find(each, kind)
    elif isinstance(node, list):
        for each in node:
            yield from find(each, kind)


@pytest.mark.parametrize(
    "path", ["os.system", "subprocess.Popen", "headstart.cli.app", "builtins.eval", "headstart.errors.LogError", 3]
)
def test_a_class_that_no_policy_is_made_of_is_refused(path, written):
    with pytest.raises(PolicyFileError, match="no part of headstart"):
        hs.load(written(lambda document: document["policy"].update({"class": path})))


def test_arrays_that_do_not_fit_are_refused_before_compiled_code_sees_them(written):
    def shorten(arrays):
        for name in arrays:
            array = np.load(io.BytesIO(arrays[name]))
            arrays[name] = as_npy(array[:1].copy() if array.ndim else array)

    with pytest.raises(PolicyFileError, match="LinUCB is not of a piece"):
        hs.load(written(None, shorten))


@pytest.mark.parametrize("index", [-5, 10**6])
def test_an_index_beyond_its_array_is_refused(index, written):
    def point_away(arrays):
        for name in arrays:
            array = np.load(io.BytesIO(arrays[name]))
            if array.dtype.kind == "i":
                arrays[name] = as_npy(np.full_like(array, index))

    with pytest.raises(PolicyFileError, match=r"index below 0|not of a piece"):
        hs.load(written(None, point_away))


def test_a_forest_that_goes_round_for_ever_is_refused(tmp_path):
    forest = hs.EpsilonForest(2, 2, rng=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        forest.update(rng.normal(size=2), int(rng.integers(2)), float(rng.random()))
    forest.forest.arrays.nodes["child"][0] = 0
    forest.save(tmp_path / "policy")
    with pytest.raises(PolicyFileError, match="a way that leads nowhere"):
        hs.load(tmp_path / "policy")


def test_claims_beyond_the_file_are_refused(written):
    huge = as_npy(np.zeros(4)).replace(b"'shape': (4,), ", b"'shape': (9**9,)")
    with pytest.raises(PolicyFileError):
        hs.load(written(None, lambda arrays: arrays.update({"arrays/0.npy": huge})))
    with pytest.raises(PolicyFileError, match="it is compressed"):
        hs.load(written(compression=zipfile.ZIP_DEFLATED))


def test_a_document_without_end_is_refused(written):
    def nest(document):
        node = {"$": "list", "of": []}
        for _ in range(400):
            node = {"$": "list", "of": [node]}
        document["policy"] = node

    with pytest.raises(PolicyFileError, match="nested more than 200 deep"):
        hs.load(written(nest))


def test_fields_of_another_layout_are_of_another_version(written):
    def rename(document):
        node = next(find(document, "named"))
        node["of"] = {f"old_{name}": each for name, each in node["of"].items()}

    with pytest.raises(PolicyFileError, match="of another version"):
        hs.load(written(rename))


def test_a_file_from_before_a_field_with_a_default_is_read(tmp_path):
    """`Summary.tails` came later than `Summary`: files from before have none."""
    policy = hs.start(LOG, rng=1)
    policy.save(tmp_path / "policy")

    def without(name):
        def change(document):
            for node in find(document, "fields"):
                if node["class"].endswith("Summary"):
                    del node["of"][name]

        return change

    path = rewrite(tmp_path / "policy", without("tails"))
    np.testing.assert_array_equal(hs.load(path).probabilities(), policy.probabilities())
    with pytest.raises(PolicyFileError, match="is of another version: Summary has other fields now"):
        hs.load(rewrite(tmp_path / "policy", without("means")))
