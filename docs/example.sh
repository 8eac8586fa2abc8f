#!/usr/bin/env bash
# Makes the two clips that the console shows as an example (src/console/public/example): the source as browsers can play it,
# and what `reelmend enhance` with its defaults makes of it, both encoded small.
#   docs/example.sh VIDEO [FROM TO]     seconds
# The clips in the repository show testWMV_WMV2.wmv of apache/tika's test documents (Apache-2.0), seconds 2 to 5.
set -euo pipefail
video=$1 from=${2:-2} to=${3:-5}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/src/console/public/example
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/scripts/reelmend" enhance "$video" "$work/enhanced.mp4" --resolution 1080p --crf 10 --from "$from" --to "$to"
mkdir -p "$out"
ffmpeg -v error -y -ss "$from" -to "$to" -i "$video" -an -c:v libx264 -preset slow -crf 8 -pix_fmt yuv420p -movflags +faststart "$out/before.mp4"
ffmpeg -v error -y -i "$work/enhanced.mp4" -an -c:v libx264 -preset slower -crf 23 -pix_fmt yuv420p -movflags +faststart "$out/after.mp4"
