# One word for each chore; CONTRIBUTING.md says what each does.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: setup check unit test further coverage coverage-changed docs site demo lock licences audit lowest newest-duckdb

setup:
	rm -rf build && $(PYTHON) -m venv .venv && $(BIN)/pip install -q -c constraints.txt -e '.[test]' && $(BIN)/python tests/sdk/install.py

check:
	$(BIN)/ruff check && $(BIN)/ruff format --check -q && $(BIN)/mypy && $(BIN)/mypy tests/support && PYTHONPATH=.typing $(BIN)/lint-imports

unit:
	$(BIN)/pytest -n 2 -m unit

test:
	$(BIN)/pytest -n 2

further:
	$(BIN)/pytest -n 2 --further

coverage: $(BIN)/coverage
	rm -rf .coverage
	$(BIN)/coverage run -m pytest -n 2 $(TESTS)
	$(BIN)/coverage combine -q && $(BIN)/coverage json -q && $(BIN)/coverage lcov -q
	PYTHONPATH=. $(BIN)/python tests/support/covered.py folders

coverage-changed:
	PYTHONPATH=. $(BIN)/python tests/support/covered.py changed $(BASE)

$(BIN)/coverage:
	$(BIN)/pip install -q -c constraints.txt -e '.[coverage]'

docs:
	PYTHONPATH=. $(BIN)/python tests/support/order_type_pages.py
	PYTHONPATH=. $(BIN)/python tests/support/order_type_drawings.py
	PYTHONPATH=. $(BIN)/python tests/support/event_page.py
	PYTHONPATH=. $(BIN)/python tests/support/monitoring_page.py
	PYTHONPATH=. $(BIN)/python tests/support/concept_pictures.py

lock: $(BIN)/uv
	$(BIN)/uv pip compile pyproject.toml -c constraints.txt --extra alerts --extra completion --extra postgres --extra s3 --generate-hashes --universal --no-header --no-annotate --python-version 3.11 -o requirements.lock -q

licences:
	PYTHONPATH=. $(BIN)/python tests/support/licences.py

audit: $(BIN)/pip-audit
	$(BIN)/pip-audit -r requirements.lock --require-hashes --disable-pip

# The tests with the lowest versions that pyproject.toml allows, in an environment of their own.
lowest: $(BIN)/uv
	rm -rf .lowest && $(PYTHON) -m venv .lowest
	$(BIN)/uv pip compile pyproject.toml --extra test --resolution lowest-direct --no-header --no-annotate --python-version 3.11 -o .lowest/requirements.txt -q
	.lowest/bin/pip install -q -r .lowest/requirements.txt && .lowest/bin/pip install -q --no-deps -e .
	.lowest/bin/python -m pytest -n 2 $(or $(TESTS),tests/config tests/brokers/transport tests/http/routes tests/actors/store tests/actors/quotes tests/actors/history tests/actors/catalogue)

# The tests of the history, and of directories of older releases, with the newest DuckDB that pyproject.toml allows.
newest-duckdb:
	rm -rf .newest && $(PYTHON) -m venv .newest
	.newest/bin/pip install -q -c constraints.txt -e '.[test]'
	.newest/bin/pip install -q --no-deps 'duckdb==2.0.*'
	.newest/bin/python -m pytest -n 2 $(or $(TESTS),tests/actors/history tests/http/commands tests/http/listener tests/demo/test_older_releases.py tests/demo/test_each_area.py)

$(BIN)/uv $(BIN)/pip-audit:
	$(BIN)/pip install -q -c constraints.txt -e '.[upkeep]'

site: $(BIN)/mkdocs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(BIN)/mkdocs:
	$(BIN)/pip install -q -c constraints.txt -e '.[docs]'

demo:
	$(BIN)/onebroker demo --port 8000
