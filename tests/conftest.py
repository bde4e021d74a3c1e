"""Settings that all tests share."""

from hypothesis import settings

# The first example of a test may compile for seconds; and a test that fails must fail again tomorrow.
settings.register_profile("headstart", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("headstart")
