"""A policy is a file: what `save` writes and `load` reads. Nothing in it runs when it is opened."""

from headstart.parts.files.policy_file import digest_of, load, save

__all__ = ["digest_of", "load", "save"]
