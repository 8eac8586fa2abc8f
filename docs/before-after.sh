#!/usr/bin/env bash
# Makes docs/before-after.webp: one frame of a real video, left as a player enlarges it (bilinear), right after
# `reelmend enhance` with its defaults.
#   docs/before-after.sh VIDEO OUT.webp [SECOND [X Y]]     X Y: corner of what is shown, in pixels of the output
# The picture in the repository shows testWMV_WMV2.wmv of apache/tika's test documents (Apache-2.0), second 2, corner 330 300.
set -euo pipefail
video=$1 out=$2 second=${3:-1} x=${4:-0} y=${5:-0}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
crop=crop=600:450:$x:$y

"$root/scripts/reelmend" enhance "$video" "$work/enhanced.mp4" --resolution 1080p --crf 1 \
  --from "$second" --to "$(awk "BEGIN { print $second + 0.25 }")"
size=$(ffprobe -v error -select_streams v:0 -show_entries stream=width,height -of csv=s=x:p=0 "$work/enhanced.mp4")
ffmpeg -v error -ss "$second" -i "$video" -vf "scale=$size:flags=bilinear,$crop" -frames:v 1 "$work/source.png"
ffmpeg -v error -i "$work/enhanced.mp4" -vf "$crop" -frames:v 1 "$work/enhanced.png"
ffmpeg -v error -y -i "$work/source.png" -i "$work/enhanced.png" \
  -filter_complex "[0]pad=iw+4:ih:0:0:white[left];[left][1]hstack" -c:v libwebp -quality 82 "$out"
