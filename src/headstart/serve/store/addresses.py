"""Addresses of stores: what kind each is."""

from __future__ import annotations


def is_postgres(address: str) -> bool:
    """Whether a store's address is PostgreSQL's; a SQLite store's is a path."""
    return address.startswith(("postgresql://", "postgres://"))
