# make run    the main job: shifts, runs, official rewards, notebooks and figures
# make test   the tests and every committed notebook, cell by cell (under six minutes)
# Both make .venv first, where it is missing, half made or out of date. Another interpreter: make PYTHON=python3.12 test

# Bytecode is wanted: without it, tau2 takes three times as long to import, in every process.
unexport PYTHONDONTWRITEBYTECODE

PYTEST = .venv/bin/python -m pytest -n 2

.PHONY: run test test-full environment clean

run: environment
	.venv/bin/python -m taulong reproduce

test: environment
	$(PYTEST)

test-full: environment
	$(PYTEST) -m ""

environment:
	@.ci/environment

clean:
	rm -rf .venv build dist outputs *.egg-info .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
