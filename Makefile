# make run    the main job: shifts, runs, official rewards, notebooks and figures
# make test   the tests and every committed notebook, cell by cell (under six minutes)
# make rerun  all notebooks at full size into data/reruns, the committed ones untouched; again, and it says what differs
# make lint    style, types, and that imports go down
# make docs    the documentation, in docs/_build/html
# make test-bench     the benchmark as a verifiers environment, in .venv-bench
# make test-frame     the frame in Inspect and Harbor, in .venv-frame (Harbor: Python 3.12 or 3.13)
# make release        its sdist and wheel in dist/, tried in a fresh environment
# make test-browser   every notebook in a real JupyterLab and Chromium; screenshots in data/notebooks/screenshots
# All make .venv first, where it is missing, half made or out of date. Another interpreter: make PYTHON=python3.12 test

# Bytecode is wanted: without it, tau2 takes three times as long to import, in every process.
unexport PYTHONDONTWRITEBYTECODE

PYTEST = .venv/bin/python -m pytest -n 2

.PHONY: run lint docs rerun test test-full test-browser test-bench test-frame release environment clean

run: environment
	.venv/bin/python -m taulong reproduce

rerun: environment
	.venv/bin/python -m taulong rerun

lint: environment
	.venv/bin/python -m ruff format --check taulong tests notebooks
	.venv/bin/python -m ruff check taulong tests notebooks
	.venv/bin/python -m mypy
	.venv/bin/lint-imports

docs: environment
	.venv/bin/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

test: environment
	$(PYTEST)

test-full: environment
	$(PYTEST) -m "not browser"

# One process: a notebook reads what those before it wrote.
test-browser: environment
	@.ci/browser
	.venv/bin/python -m pytest -p no:nbval -m browser -rs -o addopts= tests/browser

test-bench:
	@.ci/environment .venv-bench requirements-bench.txt
	.venv-bench/bin/python -m pytest -p no:nbval --disable-warnings -o addopts= $(addprefix tests/test_,bench.py packaging.py)

test-frame:
	@.ci/environment .venv-frame requirements-frame.txt
	.venv-frame/bin/python -m pytest -p no:nbval --disable-warnings -rs -o addopts= --import-mode=importlib tests/frame tests/harness tests/test_packaging.py

release:
	@.ci/release

environment:
	@.ci/environment

clean:
	rm -rf .venv .venv-bench .venv-frame build docs/_build docs/generated dist outputs *.egg-info .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
