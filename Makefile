# make run    set up what is needed and start the dashboard
# make test   set up what is needed and run every test, those in a browser included
# make sweep  every text architecture that transformers knows, of which make test takes a sample
# make mutants  wrong changes to the numeric modules, and which no test notices; SHARE=1 tries all
# make check  lint, formatting, types, and which way imports run
# make bench  speed and memory, as ratios, in some minutes; LENGTHS="64 256" for these alone,
#             PEERS=1 beside other packages, RESULTS=1 for all lengths and tests/bench/RESULTS.md

VENV := .venv
PY := $(VENV)/bin/python
# Compiling all of torch ahead takes longer than installing it; what a page needs is compiled below.
INSTALL := $(PY) -m pip install --disable-pip-version-check --no-compile
# The first Python that is new enough; PYTHON=... chooses another.
PYTHON ?= $(firstword $(foreach name,python3 python3.11 python3.12 python3.13 python3.14,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
LENGTHS ?=
SHARE ?= 0.02
ADDRESS ?= localhost

.PHONY: run test sweep mutants check bench

# For this machine alone, and so with its folders; ADDRESS=0.0.0.0 serves others, and no folders.
run: $(VENV)/.runs
	$(if $(filter localhost,$(ADDRESS)),ATTNVIZ_HOSTED=0 ATTNVIZ_ALLOW_FOLDERS=1) $(PY) -m dashboard --server.address=$(ADDRESS)

test: $(VENV)/.tests
	.ci/browser
	OMP_NUM_THREADS=1 $(PY) -m pytest --ignore=tests/sweep/test_full_sweep.py --numprocesses=2 --dist=loadfile -rR

mutants: $(VENV)/.tests
	$(PY) -m tests.mutants --share $(SHARE)

sweep: $(VENV)/.tests
	OMP_NUM_THREADS=1 $(PY) -m pytest tests/sweep/test_full_sweep.py

check: $(VENV)/.tests
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-cache

bench: $(VENV)/.tests
	$(PY) -m tests.bench $(LENGTHS) $(if $(PEERS),--peers) $(if $(RESULTS),--all --results)

# Made again only when what is to be installed has changed.
$(VENV)/.runs: requirements.txt .wheels/torch-cpu.html
	@if [ -z "$(PYTHON)" ]; then echo "attnviz needs Python 3.11 or later, and none was found." >&2; exit 1; fi
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) could not make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(INSTALL) -r requirements.txt
	@echo "Compiling what a first page needs."
	@PYTHONDONTWRITEBYTECODE= $(PY) -m dashboard.warm
	@touch $@

$(VENV)/.tests: pyproject.toml $(VENV)/.runs
	$(INSTALL) --group test
	@touch $@
