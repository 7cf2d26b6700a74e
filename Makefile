.PHONY: setup demo cluster test steady test-stores test-all check docs dist frameworks bench bench-learning lock

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

setup demo cluster test steady test-stores test-all check docs dist frameworks bench bench-learning lock:
	@test -n "$(PYTHON)" || { echo "Ringi needs Python >= 3.11 on PATH, or PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) dev.py $@ $(ARGS)
