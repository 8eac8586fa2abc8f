#!/usr/bin/env bash
# The network for faces:  bash engine/training/faces.sh train [--minutes 15], then release. See README.md.
set -euo pipefail
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
REELMEND_TRAINING_MODULE=faces exec bash "$here/ground.sh" "$@"
