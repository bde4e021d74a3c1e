"""The image and the services beside it, as far as they can be checked where no daemon runs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from headstart.serve import load_config

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent


def _run(*command):
    return subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)


def test_the_image_has_nothing_that_a_linter_objects_to():
    done = _run(shutil.which("hadolint", path=TOOLS), "Dockerfile")
    assert done.returncode == 0, done.stdout


def test_the_services_are_as_compose_wants_them():
    done = _run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")
    assert done.returncode == 0, done.stdout


def test_what_the_image_copies_is_not_ignored():
    kept = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert sorted(name for line in copied for name in line.split()) == sorted(kept)
    assert all((ROOT / name).exists() for name in kept)


def test_the_image_is_run_by_nobody_special_and_says_whether_it_is_well():
    text = (ROOT / "Dockerfile").read_text()
    final = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER 10001$", final, re.MULTILINE)
    assert final.index("USER 10001") < final.index("headstart warm")
    assert "/health" in final[final.index("HEALTHCHECK") :]


def test_the_configuration_that_is_served_is_one(tmp_path):
    config = load_config(ROOT / "deploy" / "service.toml")
    assert set(config.experiments) == {"offers"}
    assert config.store.startswith("postgresql://headstart@database/")
