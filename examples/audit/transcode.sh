#!/bin/sh
# Ten short clips with ffmpeg: a child process for each.
for number in 0 1 2 3 4 5 6 7 8 9; do
  began=$(date +%s.%N)
  ffmpeg -v error -f lavfi -i testsrc=size=320x240:rate=25:duration=1 -c:v mpeg4 -f null - </dev/null
  ended=$(date +%s.%N)
  echo "clip $number $(echo "$ended $began" | awk '{printf "%.6f", $1 - $2}')"
  if [ $number = 0 ]; then echo "first_at $ended"; fi
done
