#!/usr/bin/env bash
# Runs a command of the training ground, or its tests (`test`), in its own Python environment, which it makes the first time.
set -euo pipefail
unset CDPATH
export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0  # settings with which pip refuses what follows
here=$(cd "$(dirname "$0")" && pwd)
venv=${REELMEND_TRAINING_VENV:-$here/../../.venv-training}
python=${REELMEND_TRAINING_PYTHON:-$venv/bin/python}
wanted=$(sha256sum <"$here/requirements.txt")
# After an upgrade of the system's Python, the environment's Python does not find its packages.
is_ready() { [ "$(cat "$venv/.requirements" 2>/dev/null)" = "$wanted" ] && "$venv/bin/python" -c 'import pip' 2>/dev/null; }
if [ -z "${REELMEND_TRAINING_PYTHON:-}" ] && ! is_ready; then
  command -v python3 >/dev/null || { echo 'training: python3 is missing' >&2; exit 1; }
  python3 -m venv "$venv"
  # Not bin/pip, which names the folder that the environment was made in.
  "$venv/bin/python" -m pip install -q -r "$here/requirements.txt"
  printf '%s\n' "$wanted" >"$venv/.requirements"
fi
# Tensors of a few megabytes come and go every step. With the allocator's defaults each is mapped and cleared
# anew, which takes four times as long as the arithmetic.
export MALLOC_MMAP_THRESHOLD_=2000000000 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=268435456
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
if [ "${1:-}" = test ]; then shift; exec "$python" -m pytest -q "$here/tests" "$@"; fi
exec "$python" -m "${REELMEND_TRAINING_MODULE:-ground}" "$@"
