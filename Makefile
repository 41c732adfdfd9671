# Two commands do everything on a fresh Debian machine with Python 3.11 or newer:
#   make demo   set up, then answer questions over the sample documents
#   make test   set up, then every check that CI makes
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Every core takes the next file of tests; a file stays on one, so what it sets up is set up once.
# They are taken in their order: otherwise files of few tests come last, and those take longest.
SPREAD ?= --numprocesses=logical --maxprocesses=8 --dist=loadfile --no-loadscope-reorder
# Containers often tell Python to keep no bytecode. Every process that a test starts would then
# compile the product again, which takes longer than what most of them do.
COMPILED := PYTHONDONTWRITEBYTECODE=

.PHONY: demo test check soak lint types imports size web suite requirements clean

demo: $(VENV)/.base
	$(BIN)/secondlook demo

test: check suite

check: lint types imports size web

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports --no-cache

# The ceilings of docs/architecture.md, and the way of one question.
size: $(VENV)/.dev
	$(BIN)/python scripts/size
	$(BIN)/python scripts/walk --check

# The page: types, lint, tests, and that what is committed is what its source builds to. Node is
# taken from PyPI where this machine has none.
web: $(VENV)/.dev
	$(BIN)/python scripts/check-web

suite: $(VENV)/.dev
	$(BIN)/python scripts/fetch_test_model.py smollm2
	$(COMPILED) $(BIN)/python -m pytest $(SPREAD) --durations=25

# The full counts of what `make test` samples: hundreds of kills, thousands of random histories, every
# backend. `make soak SHARD=2/4` runs the second quarter of the files, `make soak SHARD=coverage` all of
# them at their usual counts with coverage. Each writes its summary to benchmarks/results/soak.json.
SHARD ?= 1/1
soak: $(VENV)/.dev
	$(BIN)/python scripts/fetch_test_model.py smollm2
	$(COMPILED) $(BIN)/python scripts/soak $(SHARD)

$(VENV)/bin/python:
	bash scripts/make-venv "$(PYTHON)" "$(VENV)"

$(VENV)/.base: requirements/base.txt pyproject.toml weights/pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/base.txt
	$(BIN)/python -m pip install --quiet --no-deps ./weights -e .
	touch $@

$(VENV)/.dev: requirements/dev.txt requirements/training.txt $(VENV)/.base
	bash scripts/install-debian-packages
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet -r requirements/training.txt
	$(BIN)/python -m pip install --quiet --no-deps -e ./weights -e ".[analyst,ocr,gguf,openai,ollama,watch,web,eval,mcp,milvus,postgres,telemetry]"
	touch $@

# Versions and hashes of everything we install, without the address of any registry.
requirements:
	bash scripts/compile-requirements $(BIN)

clean:
	rm -rf $(VENV) .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache dist
