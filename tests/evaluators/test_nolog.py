"""NoLog: no answer to anything."""

import headstart as hs


def test_it_answers_nothing():
    evaluator = hs.NoLog()
    assert evaluator.get_outcome(None, 0) is None
    assert evaluator.get_outcome([1.0], 17) is None
    assert evaluator.is_exhausted()
    assert repr(evaluator) == "NoLog()"
