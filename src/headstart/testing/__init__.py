"""The conformance suite: what the contracts promise, as checks that any part can be put through.

    from headstart.testing import check_oracle, check_evaluator

    def test_my_oracle_conforms():
        check_oracle(lambda: MyOracle(3, rng=1))

Each raises AssertionError with a sentence that says which promise was broken. What a part need not offer (saving,
reseeding, kernels) is held to its promise where it is offered.
"""

from headstart.testing.evaluator_contract import check_evaluator
from headstart.testing.oracle_contract import check_oracle
from headstart.testing.policy_contract import check_policy
from headstart.testing.world_contract import check_world

__all__ = ["check_evaluator", "check_oracle", "check_policy", "check_world"]
