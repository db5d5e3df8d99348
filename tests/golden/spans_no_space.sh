# If all spans were dropped, the message names the reason: the file limit, or the disk (here, a
# limit of the process).
[ -n "${CAIRN_JOBS-}" ] || { echo "no example program in this build"; exit 77; }
[ "${CAIRN_TINY-}" != true ] || { echo "in this build spans begin with next to no space"; exit 77; }
cairn run --file-limit=180000 -o limited.cairn "$CAIRN_JOBS" >/dev/null
cairn spans limited.cairn 2>&1 | sed 's/([0-9,]*)/(N)/'
(ulimit -f 300 && cairn run -o full.cairn "$CAIRN_JOBS" >/dev/null)
cairn spans full.cairn 2>&1 | sed 's/([0-9,]*)/(N)/'
cairn merge -o merged.cairn limited.cairn full.cairn
cairn spans merged.cairn 2>&1 | sed 's/([0-9,]*)/(N)/'
