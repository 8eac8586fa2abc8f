#!/usr/bin/env bash
# Makes docs/faces.webp: a person at three sizes in a compressed clip, and the same frame with faces restored.
#   docs/faces.sh OUT.webp [PHOTO]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$1 photo=${2:-$root/engine/tests/media/face.jpg}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ffmpeg -v error -loop 1 -framerate 25 -i "$photo" -frames:v 12 -filter_complex \
  "[0]split=3[a][b][c];[a]scale=384:384[a];[b]scale=256:256,pad=256:384:0:64:gray[b];[c]scale=160:160,pad=160:384:0:112:gray[c];[a][b][c]hstack=3,noise=alls=5:allf=t,format=yuv420p" \
  -c:v libx264 -crf 29 -preset medium "$work/source.mp4"
for strength in off 1; do
  "$root/scripts/reelmend" enhance "$work/source.mp4" "$work/$strength.mp4" --resolution source --model none --denoise off \
    --sharpen off --adaptive-contrast off --face-restoration "$strength"
  ffmpeg -v error -i "$work/$strength.mp4" -vf "select=eq(n\,8),crop=800:384" -frames:v 1 "$work/$strength.png"
done
ffmpeg -v error -y -i "$work/off.png" -i "$work/1.png" -filter_complex "[0]pad=iw+4:ih:0:0:white[left];[left][1]hstack" \
  -c:v libwebp -quality 85 "$out"
