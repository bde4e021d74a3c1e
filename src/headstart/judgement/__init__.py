"""Judgement: can a log be trusted, what is a policy worth on it, which one to take, and the start that follows."""
