#!/usr/bin/env bash
# Makes the two clips that the console shows as an example (src/console/public/example): the bundled clip, and what
# `reelmend enhance` with its defaults makes of it, both without sound, the result encoded smaller.
#   docs/example.sh [VIDEO]     another video, in H.264
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
video=${1:-$root/src/app/samples/sample.mp4}
out=$root/src/console/public/example
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/scripts/reelmend" enhance "$video" "$work/enhanced.mp4" --resolution 1080p --crf 10
mkdir -p "$out"
ffmpeg -v error -y -i "$video" -an -c:v copy -map_metadata -1 -movflags +faststart "$out/before.mp4"
ffmpeg -v error -y -i "$work/enhanced.mp4" -an -c:v libx264 -preset slower -crf 31 -pix_fmt yuv420p -movflags +faststart "$out/after.mp4"
