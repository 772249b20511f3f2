# `make demo` and `make test` do all set-up themselves: they need Python 3.11+ and access to the package index.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
CORE   := $(VENV)/.installed-core
STAMP  := $(VENV)/.installed-dev
PIP    := $(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
JOBS   ?= 2
# One thread per process: the suite already runs one process per core, and torch's thread pools would fight over them.
THREADS := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test test-all test-browser test-cuda lint format docs paper paper-fast bench clean

# What a user needs: no torch. The demo reads its table with pandas.
$(CORE): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (a minute or two, once)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[plot,cli]" pandas
	touch $@

# What development needs on top. torch goes first and alone: its CPU build is found by exact version only.
$(STAMP): $(CORE)
	@echo "adding what development needs (torch, linters, test tools)"
	$(PIP) torch==2.13.0
	$(PIP) --editable ".[torch,plot,dev,onnx]"
	touch $@

demo: $(CORE)
	$(PY) examples/demo.py

test: $(STAMP)
	$(THREADS) $(PY) -m pytest -n $(JOBS) --dist worksteal

test-all: $(STAMP)
	$(THREADS) $(PY) -m pytest -n $(JOBS) --dist worksteal -m "slow or not slow"

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

# The report in a real Chromium (Debian: apt-get install chromium); skipped, with the reason, where there is none.
test-browser: $(STAMP)
	$(PIP) playwright
	$(THREADS) $(PY) -m pytest -m browser tests/report

# The documentation site in site/, with strict links; the tutorials are executed.
docs: $(STAMP)
	$(PIP) --editable ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(THREADS) $(PY) -m mkdocs build --strict

format: $(STAMP)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache

# On a machine with a CUDA device (its own torch build is used, nothing is installed).
test-cuda:
	PYTHONPATH=src $(PYTHON) -m pytest -q --noconftest -W default tests/nn/test_cuda.py tests/nn/test_cuda_layers.py tests/nn/test_cuda_fit.py

# The paper's experiments, figures and report (paper/README.md); --fast takes minutes on two cores.
# Data comes from MONOLIP_DATA, or a folder shared/data beside the checkout, else from the user's cache or its source.
DATA  := $(or $(MONOLIP_DATA),$(wildcard ../shared/data))
PAPER := $(if $(DATA),MONOLIP_DATA=$(DATA)) $(THREADS) $(PY) paper/run.py
paper: $(STAMP)
	$(PIP) lightgbm xgboost pyarrow pillow
	$(PAPER)
	$(PY) paper/make_report.py

paper-fast: $(STAMP)
	$(PIP) lightgbm xgboost pyarrow pillow
	$(PAPER) --fast

# The benchmarks of the open suite, one after the other; results are committed, and docs/benchmarks.md is made from them.
# Hours. Other suites, and those that need other machines: see the docstrings in benchmarks/.
bench: $(STAMP)
	$(PIP) --no-deps monotonicnetworks==1.5.1
	$(PIP) lightgbm xgboost catboost pyarrow treelite tl2cgen onnxruntime
	for name in duplicates free_branch ulp_steps initialisation overhead training_speed predict_speed cold_start growth fit_time ablation random_tables fixed_point robustness violations inference; do $(if $(DATA),MONOLIP_DATA=$(DATA)) $(PY) benchmarks/$$name.py || exit 1; done
	$(if $(DATA),MONOLIP_DATA=$(DATA)) $(PY) benchmarks/accuracy.py --repeats 2 --jobs $(JOBS) --resume
	for page in make_tables readme_table scale_tables make_violations robustness_tables; do $(PY) docs/$$page.py || exit 1; done
