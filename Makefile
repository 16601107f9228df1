# Every command sets up what it needs by itself and does so once; `make help` lists them.
# ARGS goes through to the program behind a command: make test ARGS="tests/ops -k capacity".

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory

BIN := .venv/bin
# Tests start hundreds of processes, which would each compile our modules.
TESTS := env -u PYTHONDONTWRITEBYTECODE scripts/test
ARGS ?=
CPP_SOURCES = $(shell git ls-files '*.h' '*.hpp' '*.cc' '*.cpp')

# compile_lock NAME,PYTHON,SOURCES: requirements/NAME.txt, every package of others with its hashes.
OURS := ipulse ipulse-core ipulse-ops ipulse-service ipulse-worker ipu-tensorflow-emulator poplar-emulator
compile_lock = $(BIN)/uv pip compile --quiet --system-certs --generate-hashes --no-header $(UPGRADE) \
	$(OURS:%=--no-emit-package %) --python-version $(2) --output-file requirements/$(1).txt $(3)

# Extras of the environment of `make up`: the stack, and what the guides' Python code imports.
GUIDES := --extra all --extra notebook --extra parquet --extra tensorboard
# tf-keras asks for the package tensorflow, for which tensorflow-cpu stands; locks are installed without dependencies.
KERAS_2 := --override requirements/overrides.in

.PHONY: help demo up test verify wheels clients poplar-census lint kernels docs bench bench-peers load accuracy containers vendor lock clean runtime dev

help: ## This list.
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

demo: runtime ## The whole stack, one experiment over HTTP, its report in demo-output/.
	@$(BIN)/ipulse demo $(ARGS)

up: runtime ## The stack at 127.0.0.1:8470, until Ctrl-C; jobs and results stay.
	@$(BIN)/ipulse up $(ARGS)

test: dev ## The tests, on Python 3.11 and, where there is one, on Python 3.8.
	@scripts/setup py38
	@$(TESTS) $(ARGS)

verify: dev ## What `make test` leaves out because it takes minutes; ARGS=--resume goes on.
	@scripts/setup py38
	@$(TESTS) --verify $(ARGS)

wheels: dev ## Build every distribution and try it in a fresh environment.
	@$(BIN)/python -m pytest -q -m wheels tests/packaging $(ARGS)

clients: dev ## Generate clients from the OpenAPI document and put jobs through them.
	@$(BIN)/python -m pytest -q -m generated_clients tests/acceptance/generated_clients $(ARGS)

poplar-census: runtime ## Compile every Poplar file under DIR on the emulator; prints the first errors.
	@$(BIN)/python -m poplar_emulator.census $(DIR)

lint: dev ## Style, types and imports of Python, C++ and JavaScript; changes nothing.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/lint-imports --no-logo --config ipu-tensorflow-emulator/pyproject.toml
	@echo "$(BIN)/clang-format --dry-run -Werror ($(words $(CPP_SOURCES)) files)"
	@$(BIN)/clang-format --dry-run -Werror $(CPP_SOURCES)
	@scripts/lint-web
	@scripts/long-files
	@scripts/replaced-words

kernels: runtime ## Compile kernels and emulator now rather than in the first job.
	@TF_CPP_MIN_LOG_LEVEL=2 $(BIN)/python -m ipulse_ops.build_cache.prebuild

docs: dev ## Build the documentation site in build/docs; a warning is an error.
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo build/docs/index.html

bench: dev ## Measure a training step and a submission.
	@$(BIN)/python -m benchmarks.training step $(ARGS)
	@$(BIN)/python -m benchmarks.service submit

bench-peers: dev ## Measure a training step beside other libraries', installed apart (5 GB).
	@$(BIN)/python -m benchmarks.training peers $(ARGS)

load: dev ## Measure the service under load; ARGS=--quick takes seconds.
	@$(BIN)/python -m benchmarks.service load $(ARGS)

accuracy: dev ## Train the reference networks and print the accuracy that each reaches.
	@$(BIN)/python -m benchmarks.training accuracy $(ARGS)

containers: dev ## Build the images without a Docker engine and put examples through them (as root).
	@$(BIN)/python -m tests.container.images $(ARGS)

vendor: ## Bundle the page's libraries from their lock file, with npm.
	@scripts/vendor $(ARGS)

# Not one uv.lock: it has the addresses of PyPI's files, where these locks install from any index with the same hashes;
# overrides hold for all of it, where TensorFlow is replaced in three locks alone; and it must resolve what simulators-apart
# installs without dependencies, among which NIR's versions contradict each other. Python 3.8 would stay apart anyway.
# TensorFlow holds h5py back. The service has none, and reads files of users: it takes the newest, and
# with it the newest HDF5.
# PyTorch's build for CPUs is on no index: TORCH_WHEELS names the folder that has it.
lock: dev ## Resolve every lock again; UPGRADE=--upgrade takes newer releases.
	$(call compile_lock,bootstrap,3.11,requirements/bootstrap.in)
	$(call compile_lock,runtime,3.11,$(KERAS_2) $(GUIDES) pyproject.toml requirements/runtime.in)
	$(call compile_lock,dev,3.11,$(KERAS_2) $(GUIDES) pyproject.toml requirements/runtime.in requirements/dev.in)
	@mkdir -p build
	sed -nE 's/^([a-z0-9][^ ]*==[^ ]*).*/\1/p' requirements/runtime.txt | grep -v '^h5py==' >build/but-h5py.txt
	$(call compile_lock,service,3.11,--all-extras -c build/but-h5py.txt service/pyproject.toml)
	$(call compile_lock,worker-cpu,3.11,$(KERAS_2) --all-extras -c requirements/runtime.txt worker/pyproject.toml requirements/worker-cpu.in)
	$(call compile_lock,runner-py38,3.8,requirements/runner-py38.in)
	$(call compile_lock,generators,3.11,requirements/generators.in)
	$(call compile_lock,jupyterlab,3.11,requirements/jupyterlab.in)
	$(if $(TORCH_WHEELS),$(call compile_lock,simulators,3.11,--find-links $(TORCH_WHEELS) requirements/simulators.in))
	$(call compile_lock,simulators-apart,3.11,--no-deps requirements/simulators-apart.in)

clean: ## Remove the environments, the caches and the demo's output; not your jobs.
	rm -rf .venv .venv38 demo-output build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

runtime dev:
	@scripts/setup $@
