#!/usr/bin/env bash
# Makes docs/faces.webp: a person at two sizes in a small, compressed clip, enlarged without and with restoration of faces.
#   docs/faces.sh OUT.webp [PHOTO]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$1 photo=${2:-$root/engine/tests/media/face.jpg}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ffmpeg -v error -loop 1 -framerate 25 -i "$photo" -frames:v 12 -filter_complex \
  "[0]split[a][b];[a]scale=256:256:flags=area[a];[b]scale=160:160:flags=area,pad=160:256:0:48:gray[b];[a][b]hstack,noise=alls=4:allf=t,format=yuv420p" \
  -c:v libx264 -crf 29 -preset medium "$work/source.mp4"
for strength in off 1; do
  "$root/scripts/reelmend" enhance "$work/source.mp4" "$work/$strength.mp4" --face-restoration "$strength"
  ffmpeg -v error -i "$work/$strength.mp4" -vf "select=eq(n\,8),scale=800:-2:flags=area" -frames:v 1 "$work/$strength.png"
done
ffmpeg -v error -y -i "$work/off.png" -i "$work/1.png" -filter_complex "[0]pad=iw+4:ih:0:0:white[left];[left][1]hstack" \
  -c:v libwebp -quality 85 "$out"
