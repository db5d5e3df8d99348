# A program that profiles itself runs natively, also if it has the name of a host's interpreter.
[ -n "${CAIRN_JOBS:-}" ] || { echo "the examples are not built"; exit 77; }
mkdir -p tool/hosts/toy
cp "$CAIRN_TOOL" tool/cairn
printf '#!/bin/sh\necho "${0##*/}: $*"\n' >tool/hosts/toy/cairn-toy
chmod +x tool/hosts/toy/cairn-toy
cp "$CAIRN_JOBS" toy5.4
tool/cairn run --quiet -o a.cairn ./toy5.4 && cairn spans --top 0 a.cairn | grep -o 'convert_image'
