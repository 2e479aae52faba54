#!/usr/bin/env bash
# Runs an agent's session on a copy of examples/tides.ipynb with the programs in
# bin/, in folders of its own, and checks the saved file with nbformat.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(scripts/test-deps python)/python
go run ./scripts/demo -bin bin -notebook examples/tides.ipynb
"$python" - bin/demo/tides.ipynb <<'PY'
import sys, nbformat
nb = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT)
nbformat.validate(nb)
print(f"nbformat.validate: {sys.argv[1]} is valid, {len(nb.cells)} cells, format {nb.nbformat}.{nb.nbformat_minor}")
PY
