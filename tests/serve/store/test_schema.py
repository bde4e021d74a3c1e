"""schemathesis over the OpenAPI document: what it says is what the service does."""

import subprocess
import sys

from tests.serve.in_process import served


def test_schemathesis_finds_nothing(tmp_path):
    with served(tmp_path / "s.sqlite") as client:
        told = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{client.base_url}/openapi.json"),
                *("--checks", "all", "--max-examples", "60", "--seed", "1", "--no-color"),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
        )
    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]
    assert "No issues found" in told.stdout
