"""schemathesis over the OpenAPI document: what it says is what the service does."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.serve.in_process import ADS, served

SHOP = {
    "actions": ["mail", "nothing"],
    "outcomes": {"click": {"default": 0}, "revenue": {"sum": True, "range": [0, 1000]}},
    "value": 'revenue - shown("mail")',
    "outcome_window": 60,
}
ALIKE = ("freeze", "unfreeze", "roll-back", "withdraw-log", "set-aside", "take-back", "erase")
TABLES = Path(__file__).parents[3] / ".hypothesis"  # of Unicode: a second and a half to make


def test_schemathesis_finds_nothing(tmp_path):
    """Of one outcome and of outcomes with names; what is the same of both, by the document, of the first."""
    with served(tmp_path / "s.sqlite", {"ads": ADS, "shop": SHOP}) as client:
        paths = client.get("/openapi.json").json()["paths"]
        for verb in ALIKE:
            first, second = (json.dumps(paths[f"/v1/{name}/{verb}"]) for name in ("ads", "shop"))
            assert first.replace("ads", "shop") == second
        told = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{client.base_url}/openapi.json"),
                *("--checks", "all", "--max-examples", "20", "--seed", "1", "--no-color"),
                *("--generation-database", "none"),
                *(word for verb in ALIKE for word in ("--exclude-path", f"/v1/shop/{verb}")),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(TABLES)},
        )
    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]
    assert "No issues found" in told.stdout
    n = sum(len(operations) for operations in paths.values())
    assert f"{n - len(ALIKE)} selected / {n} total" in told.stdout
