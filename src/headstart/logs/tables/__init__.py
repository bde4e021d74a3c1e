"""Logs as they are kept: files, frames and tables of any size, read with a stated rule for every fault."""

from headstart.logs.reading import Reading
from headstart.logs.tables.reading import read_log, scan_log
from headstart.logs.tables.table import LogTable

__all__ = ["LogTable", "Reading", "read_log", "scan_log"]
