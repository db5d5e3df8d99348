# If no capture can be created, the program is not run, and a message gives the reason.
[ -n "${CAIRN_JOBS-}" ] || { echo "no example program in this build"; exit 77; }
refused() { cairn run "$@" "$CAIRN_JOBS" 2>&1 | sed -e "s,$PWD/,HERE/," -e "s,$CAIRN_JOBS,./jobs,"; }
refused -o /dev/null
refused -o ''
mkdir folder && refused -o folder
refused -o folder/none/a.cairn
mkfifo pipe && refused -o pipe
ln -s nowhere/a.cairn link && refused -o link
echo mine >notes.txt && refused -o notes.txt && cat notes.txt
for bytes in 1 1000; do
    refused --file-limit "$bytes" -o limited.cairn
done
[ -e limited.cairn ] || echo nothing is there

# Captures replace captures and empty files, and fit into little space.
: >empty.cairn
cairn run -o empty.cairn "$CAIRN_JOBS" >/dev/null
cairn run -o empty.cairn "$CAIRN_JOBS" >/dev/null
cairn run --file-limit 1000000 -o small.cairn "$CAIRN_JOBS" >/dev/null
ls *.cairn
