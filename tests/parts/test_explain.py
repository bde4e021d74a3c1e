"""Why a user gets an action: the words by hand, and the numbers by the rule that decides."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import headstart as hs
from headstart.errors import ActionError, ContextError
from headstart.parts.explanation import ActionCase, Explanation
from headstart.parts.files.policy_file import digest_of

NAN = math.nan
TEXT = ActionCase("text", 0.5, 0.10, 0.01, 0.9, 40.0, 0.12, 0.11, 0.008, 0.0)
VIDEO = ActionCase("video", 0.5, 0.08, 0.02, 0.8, 8.0, 0.25, 0.09, 0.03, 0.05)


def two_arms(n=400, seed=3):
    rng = np.random.default_rng(seed)
    x, a = rng.normal(size=(n, 2)), rng.integers(2, size=n)
    y = 0.5 * x[:, 0] * (2 * a - 1) + rng.normal(size=n)
    names = np.array(["text", "video"])
    return hs.Log(names[a], y, x, np.full(n, 0.5), context_names=["age", "visits"])


def test_every_part_is_a_sentence():
    """A try of video costs 0.11 - 0.09 = 0.02 and is worth 0.05."""
    told = Explanation("text", (TEXT, VIDEO), {"age": 31}, "click", "KnowledgeGradient")
    assert told.headline == "text has a chance of 50 % for a user with age 31"
    assert told.sentences == (
        "The log says: a mean click of 0.1 for text (give or take 0.01) and 0.08 for video (give or take 0.02). "
        "The chance that it is right is by now 90 % for text and 80 % for video.",
        "Outcomes of users since: 40 of text with a mean of 0.12 and 8 of video with a mean of 0.25.",
        "By all that is known, the click of this user is expected to be 0.11 for text (give or take 0.008) and 0.09 "
        "for video (give or take 0.03): text is the best so far.",
        "Still worth finding out: one more try of video costs 0.02 in expected click, and what it teaches is worth "
        "0.05 to the users to come. That is why video is tried.",
    )


def test_a_trial_that_is_not_worth_its_price_is_said_to_be_none():
    sure = (TEXT._replace(chance=1.0), VIDEO._replace(chance=0.0, worth=0.001))
    told = Explanation("text", sure, {}, "click", "KnowledgeGradient")
    assert told.headline == "text has a chance of 100 %, as for every user"
    assert told.sentences[-1].startswith(
        "Nothing is worth finding out on this user: one more try of video costs 0.02"
    )
    both = (TEXT._replace(chance=1.0, worth=0.1), VIDEO._replace(chance=0.0))
    said = Explanation("text", both, {}, "click", "KnowledgeGradient").sentences[-1]
    assert said.endswith("to the users to come, but to know text better is worth as much.")


def test_what_is_not_known_is_left_out():
    plain = ActionCase("a", 1.0, NAN, NAN, NAN, 0.0, NAN, NAN, NAN, NAN)
    told = Explanation("a", (plain, plain._replace(name="b", chance=0.0)), {}, "outcome", "UCB")
    assert told.sentences == (
        "No outcome of a user has come yet.",
        "UCB plays a at this moment; it does not say what another try is worth.",
    )
    assert list(told.to_frame().columns) == ["action", "chance", "users since"]


def _weighed_as_decided(policy, user, chances):
    """The best so far, or each of it and the one with the most to offer with chance 1/2: what the oracles promise."""
    cases = policy.explain(user).cases
    means, worths = (np.array([getattr(case, name) for case in cases]) for name in ("expected", "worth"))
    best, chosen = int(np.argmax(means)), int(np.argmax(means + worths))
    wanted = np.zeros(len(cases))
    wanted[best] += 0.5
    wanted[chosen] += 0.5
    assert chances.tolist() == wanted.tolist()


@pytest.mark.parametrize("decide_on", [None, ["age", "visits"]])
def test_the_numbers_are_those_that_decide(decide_on):
    policy, rng = hs.start(two_arms(), decide_on=decide_on, horizon=300, rng=1), np.random.default_rng(5)
    for _ in range(60):
        user = None if decide_on is None else rng.normal(size=2)
        _weighed_as_decided(policy, user, policy.probabilities(user))
        action = policy.play(user)
        policy.update(user, action, float(rng.normal(0.3 * action, 1.0)))
    heard = sum(case.n_users for case in policy.explain(user).cases)
    assert heard == 60


def test_the_worth_of_a_trial_by_hand():
    """A log that is believed wholly: m ~ N(mean, v / n) of each action. m more plays move the posterior mean of the
    second by s sqrt(m / (m + n)), s = sqrt(v / n); its worth is the largest (r - m) E max(. - best, 0) / m."""
    summary = hs.Summary(np.array([1.0, 0.9]), np.array([0.1, 0.2]), np.array([1.0, 1.0]))
    oracle = hs.KnowledgeGradient(2, summary, trust=1.0, horizon=1000, rng=1)
    found = oracle.weigh()
    assert found.means == pytest.approx([1.0, 0.9])
    belief = oracle.kernel_state.belief
    n, s = belief.known[1, 0], belief.scales[1, 0]
    plays = 2.0 ** np.arange(10)
    moved = s * np.sqrt(plays / (plays + n))
    z = (0.9 - 1.0) / moved
    gains = moved * (norm.pdf(z) + z * norm.cdf(z))
    assert found.worths[1] == pytest.approx(float(np.max((1000 - plays) * gains / plays)), rel=1e-9)
    assert math.isnan(oracle.weigh(None, [0]).means[1])


def test_what_the_log_says_of_a_user_is_its_own_model():
    """With nothing but the log believed and no user yet, what is expected is what the log says."""
    log = two_arms()
    policy = hs.start(log, decide_on=["age", "visits"], trust=1.0, rng=1)
    for user in ({"age": 2.0, "visits": 0.0}, {"age": -2.0, "visits": 1.0}):
        for case in policy.explain(user).cases:
            assert case.log_mean == pytest.approx(case.expected)
            assert case.log_error == pytest.approx(case.error)
    young, old = (policy.explain({"age": age, "visits": 0.0}).action for age in (-2.0, 2.0))
    assert (young, old) == ("text", "video")


def test_to_explain_changes_no_more_than_to_ask_for_the_chances():
    """Which leaves the last user that was looked at in the state."""
    policy = hs.start(two_arms(), decide_on=["age"], rng=1)
    policy.probabilities({"age": 0.3})
    before = digest_of(policy)
    policy.explain({"age": 0.3})
    assert digest_of(policy) == before


def test_names_come_in_and_go_out():
    policy = hs.start(two_arms(), decide_on=["age"], rng=1)
    told = policy.explain({"age": 0.3, "visits": 9.0}, available=["text"], action="text")
    assert (told.action, told.user) == ("text", {"age": 0.3})
    assert told.cases[0].chance == 1.0
    assert policy.explain([0.3, 9.0]).user == {"age": 0.3}
    with pytest.raises(ActionError, match="unknown action 'radio'; known: 'text', 'video'"):
        policy.explain({"age": 0.3}, action="radio")
    with pytest.raises(ContextError, match="context column 'age' is missing"):
        policy.explain({"visits": 1.0})


@pytest.mark.parametrize(
    "make",
    [
        lambda log: hs.UCB(2),
        lambda log: hs.ThompsonBeta(2, rng=1),
        lambda log: hs.Exp3(2, rng=1),
        lambda log: hs.WarmStart(hs.UCB(2), hs.IPSWeighting(log), rng=1),
        lambda log: hs.OfflineOnly(hs.UCB(2), hs.IPSWeighting(log), rng=1),
    ],
)
def test_any_policy_says_what_is_known(make):
    policy = make(two_arms())
    for outcome in (1.0, 0.0, 1.0):
        policy.update(None, 1, outcome)
    told = policy.explain()
    assert sum(case.chance for case in told.cases) == pytest.approx(1.0)
    assert str(told.cases[1].name) in repr(told)
    assert told._repr_html_().startswith("<p><b>")


def test_a_warm_start_tells_users_from_virtual_plays():
    policy = hs.WarmStart(hs.UCB(2), hs.IPSWeighting(two_arms()), rng=1)
    policy.update(None, 0, 1.0)
    cases = policy.explain().cases
    assert [case.n_users for case in cases] == [1.0, 0.0]
    assert cases[0].log_mean == pytest.approx(hs.IPSWeighting(two_arms()).means[0])


def test_a_picture_names_actions_and_the_outcome():
    axes = Explanation("text", (TEXT, VIDEO), {"age": 31}, "click", "KnowledgeGradient").plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["text (50 %)", "video (50 %)"]
    assert axes.get_xlabel().startswith("click expected")
