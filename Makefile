# Everything runs in .venv, which is made here; nothing else on the machine is relied upon.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of interpreters, each of which would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
export PJRT_DEVICE ?= CPU

.PHONY: demo demo-jax test test-programs test-all test-releases test-newest test-tpu-compiler torch-tpu-cpu test-busy fuzz lint docs site snapshots samples benchmark benchmark-long \
        benchmark-ingest benchmark-pod benchmark-recompilation benchmark-savings benchmark-scaling clean help

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

demo: $(VENV)/.xla ## install with torch and torch_xla, and diagnose a first program
	xladoctor run examples/recompiling.py

# An environment of its own, so that it needs neither torch nor torch_xla.
demo-jax: .venv-jax/.jax ## install with JAX for the CPU (some 500 MB), and diagnose a first program
	.venv-jax/bin/xladoctor run examples/jax/changing_shapes.py

PYTEST := python -m pytest --dist loadgroup

test: $(VENV)/.xla $(VENV)/.test ## what needs no other program (five minutes on two cores); CHANGED=1: what changes affect
	$(if $(CHANGED),tests=$$(python -m tests.affected) && ,)$(PYTEST) -n logical -m 'not thorough and not programs' $(if $(CHANGED),$$tests,) $(PYTEST_ARGS)

# More workers than cores: many wait for programs.
test-programs: $(VENV)/.xla $(VENV)/.test ## live programs, commands, browsers, servers, environments, and long tests (25 minutes)
	$(PYTEST) -n 4 -m 'programs and not thorough' $(PYTEST_ARGS)

test-all: $(VENV)/.xla $(VENV)/.test ## all tests, the thorough ones too (half an hour)
	$(PYTEST) -n 4 $(PYTEST_ARGS)

test-releases: $(VENV)/.xla $(VENV)/.test ## programs, traces and logs of the oldest and newest releases (2 GB, ten minutes)
	python -m pytest tests/releases/releases.py $(PYTEST_ARGS)
	python docs/generate.py

# On the Python that PYTHON names. Which tests: those that need no framework, and programs of this one.
NEWEST_TESTS := tests/releases/releases.py tests/causes tests/comparison tests/configuration tests/diagnosis \
        tests/evidence tests/gate tests/xspace
test-newest: .venv-newest/.made ## FRAMEWORK=jax or torch: its newest release, on any Python (eight minutes)
	XLADOCTOR_NEWEST=$(FRAMEWORK) .venv-newest/bin/python -m pytest -n 4 -m 'not thorough' $(NEWEST_TESTS) $(PYTEST_ARGS)

.venv-newest/.made: pyproject.toml
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-newest/bin/python -m pip install --quiet --editable . --group newest
	@touch $@

# libtpu is Google's, under the terms of Google Cloud: it is installed where nothing else is.
test-tpu-compiler: $(VENV)/.xla $(VENV)/.test .venv-tpu/.made ## what the TPU's compiler makes of graphs, without a TPU (1 GB, ten minutes)
	XLADOCTOR_TPU_PYTHON=$(CURDIR)/.venv-tpu/bin/python python -m pytest -m tpu_compiler tests/tpu_check $(PYTEST_ARGS)

.venv-tpu/.made:
	$(PYTHON) -m venv .venv-tpu
	.venv-tpu/bin/python -m pip install --quiet "jax[tpu]" flatbuffers
	@touch $@

# The plugin that stands in for a TPU's is built from tests/torch_tpu.
torch-tpu-cpu: .venv-torch-tpu/.made ## an environment with TorchTPU that computes on the CPU, to move programs to (1 GB, needs a C compiler)

.venv-torch-tpu/.made: tests/torch_tpu/stand_in.py tests/torch_tpu/plugin.c
	$(PYTHON) -m venv .venv-torch-tpu
	.venv-torch-tpu/bin/python -m pip install --quiet torch_tpu==0.2.0 $$($(PYTHON) -c "from tests.torch_tpu.stand_in import REQUIREMENTS as r; print(*r)")
	$(PYTHON) -m tests.torch_tpu.stand_in .venv-torch-tpu/bin/python
	@touch $@

test-busy: $(VENV)/.xla $(VENV)/.test ## tests of running programs while two processes keep two cores busy
	python -m tests.busy $(PYTEST) -n 4 -m 'not thorough' tests/live $(PYTEST_ARGS)

fuzz: $(VENV)/.xla $(VENV)/.test ## a million mutants of evidence, 5,000 of run directories, 20,000 inputs measured, each cut of each file (four hours on two cores)
	python -m tests.hostile.fuzz --inputs 1000000 --runs 5000
	python -m tests.hostile.measured --inputs 20000
	python -m tests.hostile.cuts
	python -m tests.hostile.beside --analyses 1000

lint: $(VENV)/.xla $(VENV)/.dev ## formatting, ruff, mypy --strict, sizes, workflows, and generated files up to date
	pre-commit run --all-files --show-diff-on-failure

docs: $(VENV)/.test ## write the files in docs/ that are made from rules, schemas and commands
	python docs/generate.py

site: $(VENV)/.docs $(VENV)/.test ## make a site of docs/ in site/, with a page for each rule and with search; fails on dead links
	python docs/generate.py --site
	zensical build --strict

snapshots: $(VENV)/.test ## accept reports and screenshots as they are now: look at them
	XLADOCTOR_UPDATE_SNAPSHOTS=1 python -m pytest -q tests/report tests/chrome tests/tpu_check/test_command.py tests/view/test_trace_viewer.py

samples: $(VENV)/.xla ## capture the sample traces anew
	python sample_traces/capture.py

benchmark: $(VENV)/.xla ## overhead of the capture on five kinds of program, bare and captured
	python -m benchmarks.capture_overhead

benchmark-long: $(VENV)/.xla ## disk and memory of a million executions, bare and captured
	python -m benchmarks.long_run

benchmark-ingest: $(VENV)/.xla ## reading a timeline, beside XProf and protobuf
	python -m benchmarks.ingest

benchmark-pod: $(VENV)/.xla $(VENV)/.test ## pods of 16, 64 and 256 hosts, by one worker and two, and on Dask's (an hour, 6 GB of disk)
	python -m benchmarks.pod --cluster

benchmark-recompilation: $(VENV)/.base ## why graphs were compiled again: 200 modules compared
	$(BIN)/python -m pip install --quiet --editable .
	python -m benchmarks.recompilation

benchmark-scaling: $(VENV)/.base ## how time and memory of the readers grow with their input
	$(BIN)/python -m pip install --quiet --editable .
	python -m benchmarks.scaling

benchmark-savings: $(VENV)/.xla ## predicted against measured savings of all examples (two hours)
	python -m benchmarks.savings

$(VENV)/.docs: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

clean:           ## remove the environment and all caches
	rm -rf $(VENV) .venv-jax .venv-newest .venv-releases .venv-torch-tpu .venv-tpu site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist

$(VENV)/.base:
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit("xladoctor needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.xla: $(VENV)/.base pyproject.toml
	@echo "installing xladoctor with torch 2.9.0 and torch-xla 2.9.0 (7 GB, some two minutes)"
	$(BIN)/python -m pip install --quiet --editable '.[xla]'
	@touch $@

.venv-jax/.jax: pyproject.toml
	@echo "installing xladoctor with JAX for the CPU"
	@$(PYTHON) -c 'import sys; sys.exit("xladoctor needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv-jax
	.venv-jax/bin/python -m pip install --quiet --editable '.[jax]'
	@touch $@

$(VENV)/.test: $(VENV)/.base pyproject.toml
	@echo "installing what the tests need"
	$(BIN)/python -m pip install --quiet --editable . --group test
	@touch $@

$(VENV)/.dev: $(VENV)/.base pyproject.toml
	@echo "installing ruff, mypy, zizmor and pre-commit"
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
