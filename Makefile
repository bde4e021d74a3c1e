# make demo: set up and run the main job.  make test: everything CI runs.  make docs: the site, into site/.  All need Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A worker more than the cores that CI has: a quarter of the tests' time is waiting, for a deadline, a browser, a server.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

# Tests begin some hundred processes, and each would read all sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick check unit docs benchmark campaigns clean

demo: $(VENV)/.installed
	$(BIN)/headstart demo

test: check unit

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

unit: $(VENV)/.test
	$(PYTEST)

# The inner loop: what `make check` does and the files of tests that take seconds, in about a minute.
quick: check
	$(PYTEST) --quick

docs: $(VENV)/.docs
	$(BIN)/python -m tools.site --out site

# About 45 minutes of two quiet cores; python -m benchmarks NAME runs one. Writes results/benchmarks.json and docs/performance.md.
benchmark: $(VENV)/.benchmark
	$(BIN)/python -m benchmarks

# The long ones: every experiment at 4,000 runs (35 minutes of two quick cores), and RESULTS.md from them.
campaigns: $(VENV)/.test
	$(BIN)/python -m headstart.experiments.running.campaign results
	$(BIN)/python -m headstart.experiments.running.results results > RESULTS.md
	@# Kills, faults, replicas, a million propensities, 10,000 simulated lives: about two hours; RELIABILITY.md has the figures.
	$(BIN)/python -m tests.serve.campaign

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("headstart needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(PIP) -e '.[cli,plot]'
	@# Part of installing: compile the demo's kernels once, into the user's cache.
	$(BIN)/headstart demo --runs 2 --figure $(VENV)/demo.png > /dev/null
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) -e '.[all,docs]'
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) -e '.[all,test,docs]'
	@# Pages are tested in a real browser, Spark tables on a real Spark (Java 17), replicas on a real PostgreSQL.
	sh tests/install-debian.sh chromium:chromium chromedriver:chromium-driver java:openjdk-17-jre-headless \
	  pg_ctlcluster:postgresql
	@# axe-core checks that the pages are accessible, where there is an npm; the test says so where there is none.
	-command -v npm > /dev/null && npm install --prefix $(VENV)/axe --no-save --no-fund --no-audit axe-core@4
	touch $@

$(VENV)/.benchmark: $(VENV)/.test
	$(PIP) -e '.[benchmark]'
	sh tests/install-debian.sh wrk:wrk
	touch $@
