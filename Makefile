# TreeDP: `make run` starts the app, `make test` runs every check. Needs Python 3.11 or later, pip, git and make.

PORT ?= 8501
SUPPORTED := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for p in python3 $$(seq -f python3.%g 40 -1 11); do \
	$$p -c '$(SUPPORTED)' >/dev/null 2>&1 && { echo $$p; break; }; done)
endif
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
BROWSERS ?= 2

# One thread for each linear-algebra call: the checks already use every core.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Checks start a hundred processes, each of which would compile the app anew if bytecode were not kept.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check rest quick lint typing doctest core stories pages browser contract bench audit attack mutants gallery samples format wheel clean python

help:  ## show this list
	@echo "TreeDP: differentially private counts on trees"
	@echo
	@sed -n 's/^\([a-z]*\):.*  ## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-9s %s\n", $$1, $$2 }'
	@echo
	@echo "  PORT=8502 chooses another port, PYTHON=/path/to/python3.12 another Python for .venv"

run: $(BIN)/.app  ## install on the first call, then start the app on http://127.0.0.1:8501
	@$(BIN)/treedp --port $(PORT)

test: $(BIN)/.test  ## install the test tools on the first call, then check what tells most
	@began=$$(date +%s); $(MAKE) --no-print-directory --keep-going quick core stories; status=$$?; \
	echo "make test: $$(($$(date +%s) - began)) s"; exit $$status

check: $(BIN)/.test  ## every check: `make test`, then the rest
	@$(MAKE) --no-print-directory --keep-going test rest

rest:
	@$(MAKE) --no-print-directory --keep-going pages browser

quick:  # side by side: typing keeps one core busy for as long as the others take
	@$(MAKE) --no-print-directory --keep-going --jobs 2 --output-sync=target typing doctest lint

lint: $(BIN)/.test  ## ruff: style, imports, docstrings, formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typing: $(BIN)/.test  ## mypy --strict on treedp_core, the pages and app.py
	$(BIN)/mypy --strict

doctest: $(BIN)/.test  ## the examples in docstrings, README.md and docs
	$(BIN)/pytest -q --doctest-modules treedp_core sample_data pages/ui pages/views README.md docs

OPENING := tests/pages/test_pages_contract.py::test_every_view_opens_on_odd_data[ragged]
TESTS := $(BIN)/pytest -q -n $(WORKERS) --dist worksteal --durations=20 -m "not contract"

core: $(BIN)/.test  ## the core, its views, the rules of the house, and every view opened once
	$(TESTS) tests/core tests/views tests/guards "$(OPENING)"

stories: $(BIN)/.test  ## six stories of users, in a real Chromium
	$(BIN)/pytest -q -n $(BROWSERS) --dist worksteal -m "story and not contract" tests/browser

pages: export EXAMPLES ?= 100
pages: $(BIN)/.test  ## what takes long of the core, and every page by its controls
	$(TESTS) --deselect "$(OPENING)" tests/long tests/pages

browser: $(BIN)/.test  ## all else in a real Chromium, sessions and attacks included
	$(BIN)/pytest -q -n $(BROWSERS) --dist worksteal --durations=20 -m "not contract and not story" tests/browser

contract: $(BIN)/.test  ## every page, view, relation and kind of data together
	PYTHONPATH=tests $(BIN)/pytest -q -n $(WORKERS) -m contract -p assurance

bench: $(BIN)/.bench  ## compare speed and memory with the peers; fails when a ratio falls short
	$(BIN)/python tests/benchmarks/run.py $(ARGS)

audit: $(BIN)/.test  ## enumerate neighbours and hold every privacy claim against exact losses; fails on a violation
	@PYTHONPATH=tests $(BIN)/python -m audit $(ARGS)

attack: $(BIN)/.test  ## attack a running app: hostile files and widgets, sessions against each other, load, leaks
	@PYTHONPATH=tests:tests/long $(BIN)/python -m attack $(ARGS)

mutants: $(BIN)/.test  ## plant faults in the core one by one; fails when the tests let more than 2 % pass
	@PYTHONPATH=tests $(BIN)/python -m mutants.run $(ARGS)

gallery: $(BIN)/.test  ## draw every page again, light and dark, into docs/gallery
	@PYTHONPATH=tests $(BIN)/python -m gallery

samples: $(BIN)/.app  ## write the samples again from their seeds; PACKAGES=folder: the published ones, too
	$(BIN)/python -m sample_data $(PACKAGES)

format: $(BIN)/.test  ## format the code and apply the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(BIN)/.test  ## build dist/treedp-*.whl, the app included
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove .venv and everything the tools left
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An install is a stamp that is older or newer than pyproject.toml, so a second call installs nothing.
$(BIN)/.app: pyproject.toml
	@$(MAKE) --no-print-directory python
	@echo "Installing TreeDP into $(VENV) (once, about half a minute) ..."
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(BIN)/.test: pyproject.toml
	@$(MAKE) --no-print-directory python
	@echo "Installing TreeDP and its test tools into $(VENV) (once, about a minute) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(BIN)/.app

$(BIN)/.bench: pyproject.toml
	@$(MAKE) --no-print-directory python
	@echo "Installing TreeDP and the systems it is compared with into $(VENV) (once, about a minute) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@ $(BIN)/.app

python:
	@if [ -z "$(PYTHON)" ] || ! $(PYTHON) -c '$(SUPPORTED)' >/dev/null 2>&1; then \
		echo "TreeDP needs Python 3.11 or later, and '$(or $(PYTHON),python3)' is not; \
	name one with PYTHON=/path/to/python3.12." >&2; exit 1; fi
	@$(BIN)/python -c '$(SUPPORTED)' >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
