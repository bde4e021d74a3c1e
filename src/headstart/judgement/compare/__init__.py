"""Compare: which oracle and evaluator would have done best on this log, and is the difference more than noise?"""
