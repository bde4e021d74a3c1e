"""schemathesis over the OpenAPI document: what it says is what the service does."""

import subprocess
import sys

import pytest

from tests.serve.in_process import ADS, served

SHOP = {
    "actions": ["mail", "nothing"],
    "outcomes": {"click": {"default": 0}, "revenue": {"sum": True, "range": [0, 1000]}},
    "value": 'revenue - shown("mail")',
    "outcome_window": 60,
}


@pytest.mark.parametrize("experiment", [ADS, SHOP], ids=["one outcome", "outcomes with names"])
def test_schemathesis_finds_nothing(tmp_path, experiment):
    with served(tmp_path / "s.sqlite", {"ads": experiment}) as client:
        told = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{client.base_url}/openapi.json"),
                *("--checks", "all", "--max-examples", "20", "--seed", "1", "--no-color"),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
        )
    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]
    assert "No issues found" in told.stdout
