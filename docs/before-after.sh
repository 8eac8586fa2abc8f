#!/usr/bin/env bash
# Makes docs/before-after.webp: a clip from a photograph (a slow pan, reduced, with noise, compressed by x264), enhanced
# by `reelmend enhance`; one frame of each, the source enlarged as a player does it (bilinear), side by side.
#   docs/before-after.sh PHOTO OUT.webp [X Y]     X Y: corner of what is shown, in pixels of 1920×1080
# The picture in the repository shows "the-spices-of-life" of BuddiesOfBudgie/budgie-backgrounds (CC0-1.0), which no network
# was trained on.
set -euo pipefail
photo=$1 out=$2 x=${3:-940} y=${4:-260}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
frame=8 pane=600x450

ffmpeg -v error -loop 1 -framerate 24 -i "$photo" -frames:v 16 -an \
  -vf "scale=1984:1116:force_original_aspect_ratio=increase:flags=lanczos,crop=1920:1080:'n*2':'n',scale=960:540:flags=bicubic,noise=alls=5:allf=t,format=yuv420p" \
  -c:v libx264 -crf 24 -preset medium "$work/source.mp4"
"$root/scripts/reelmend" enhance "$work/source.mp4" "$work/enhanced.mp4" --resolution 1080p

shown() { # FILE ENLARGEMENT: one frame of it as a PNG
  ffmpeg -v error -i "$work/$1.mp4" -vf "select=eq(n\,$frame),$2crop=${pane/x/:}:$x:$y" -frames:v 1 "$work/$1.png"
}
shown source "scale=1920:1080:flags=bilinear,"
shown enhanced ""
ffmpeg -v error -y -i "$work/source.png" -i "$work/enhanced.png" \
  -filter_complex "[0]pad=iw+4:ih:0:0:white[left];[left][1]hstack" -c:v libwebp -quality 82 "$out"
