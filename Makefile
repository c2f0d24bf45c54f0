# One word for each chore; CONTRIBUTING.md says what each does.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: setup check unit test further coverage coverage-changed docs demo

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
	PYTHONPATH=. $(BIN)/python tests/support/event_page.py
	PYTHONPATH=. $(BIN)/python tests/support/monitoring_page.py

demo:
	$(BIN)/onebroker demo --port 8000
