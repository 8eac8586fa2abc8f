#!/usr/bin/env bash
# Makes the bundled clip of `npm start` and the results of test mode (src/app/samples): two photographs without copyright, moved as
# a hand moves a camera, reduced, and damaged by real encoders, an old camera's and that of a messenger. The results of test mode
# are the beginning of that clip with a mark on it, enhanced.
#   docs/sample.sh
# Needs scripts/bootstrap, pip, ffmpeg with drawtext, and the font DejaVu Sans. The photographs come with scikit-image 0.25.2.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/src/app/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pip download --quiet --no-deps --only-binary=:all: --dest "$work" scikit-image==0.25.2
unzip -jq "$work"/*.whl skimage/data/astronaut.png skimage/data/coffee.png -d "$work"
cd "$work"

# PICTURE CROP FRAMES ZOOM X Y OUT: the window moves over an enlarged picture, so that it moves by parts of a pixel.
shot() {
  ffmpeg -v error -y -loop 1 -i "$1" -frames:v "$3" -c:v ffv1 -vf "crop=$2,scale=iw*8:ih*8:flags=lanczos,\
zoompan=z='$4':x='$5':y='$6':d=$3:s=1920x1080:fps=25,scale=384:216:flags=area,setsar=1" "$7"
}
shot astronaut.png 512:288:0:0 52 '1.0+0.25*on/51' '(iw-iw/zoom)*0.42' '(ih-ih/zoom)*(0.15+0.3*on/51)' first.mkv
shot coffee.png 600:338:0:40 48 1.22 '(iw-iw/zoom)*(0.1+0.8*on/47)' '(ih-ih/zoom)*0.5' second.mkv
printf 'file %s\n' first.mkv second.mkv > shots.txt
ffmpeg -v error -y -f concat -i shots.txt -vf noise=alls=3:allf=t,format=yuv420p -c:v mpeg4 -qscale:v 6 -g 50 camera.avi

sound="aevalsrc='0.06*sin(2*PI*220*t)*exp(-mod(t\,1)*3)+0.05*sin(2*PI*330*t)*exp(-mod(t+0.5\,1)*3)':s=48000:d=4"
ffmpeg -v error -y -i camera.avi -f lavfi -i "$sound" -t 4 -c:v libx264 -preset slow -crf 27 -pix_fmt yuv420p -c:a aac -b:a 48k \
  -map_metadata -1 -fflags +bitexact -movflags +faststart "$out/sample.mp4"
ffmpeg -v error -y -f lavfi -i color=black@0.55:s=96x22,format=rgba -frames:v 1 -pred mixed \
  -vf "drawtext=font=DejaVu Sans:text='TEST MODE':fontsize=14:fontcolor=white:x=(w-tw)/2:y=(h-th)/2" mark.png

ffmpeg -v error -y -i "$out/sample.mp4" -i mark.png -filter_complex overlay=W-w-8:8 -t 2 -c:v libx264 -preset veryfast -crf 18 \
  -pix_fmt yuv420p -c:a copy marked.mp4
for resolution in 1080p 4k; do
  "$root/scripts/reelmend" enhance marked.mp4 result.mp4 --resolution "$resolution" --crf 30 --preset slower
  mv result.mp4 "$out/test-result-$resolution.mp4"
done
