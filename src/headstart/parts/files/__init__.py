"""A policy is a file: what `save` writes and `load` reads. Nothing in it runs when it is opened."""

from headstart.parts.files.policy_file import digest, load, save

__all__ = ["digest", "load", "save"]
