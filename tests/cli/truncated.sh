# The complete part of a truncated capture is shown; nothing crashes.
{
    for i in $(seq 200); do echo ">function$i +$i"; done
} | play a.cairn
size=$(wc -c <a.cairn)
for cut in 0 1 8 100 295 296 4095 4096 5000 8192 $((size / 2)) $((size - 4096)) $((size - 1)); do
    head -c "$cut" a.cairn >cut.cairn
    for view in --flat --tree --json '--focus function7'; do
        "$CAIRN_TOOL" report $view cut.cairn >out 2>err
        status=$?
        lines=$(wc -l <err)
        case $status:$lines in
        0:0 | 2:1) ;;
        *)
            echo "cut at $cut, $view: status $status, $lines lines of error"
            cat err
            ;;
        esac
    done
done
head -c $((size - 4096)) a.cairn >cut.cairn
cairn report cut.cairn --top 1 | without_times | grep -c warning
