"""Logs as they are kept: files, frames and tables of any size, read with a stated rule for every fault."""

from headstart.tables.cleaning import Reading
from headstart.tables.reading import read_log, scan_log
from headstart.tables.table import LogTable

__all__ = ["LogTable", "Reading", "read_log", "scan_log"]
