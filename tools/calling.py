"""`headstart ...` as it is typed, in this process: the libraries, seconds of each call, are there already.

tests/cli/test_cli.py and the service's tests begin real processes.
"""

from __future__ import annotations

import io
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

from headstart.cli import main


def call_headstart(*arguments: str, cwd: Path) -> CompletedProcess[str]:
    """What the command printed, and its exit code. What no message was written for is a failure."""
    out, err, code, before = io.StringIO(), io.StringIO(), 0, sys.argv
    sys.argv = ["headstart", *arguments]
    try:
        with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = before
    assert "failed where it should not have" not in err.getvalue(), err.getvalue()
    return CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
