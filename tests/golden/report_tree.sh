play a.cairn <"$DATA/compiler.events"
cairn report --no-summary --tree a.cairn
cairn report --no-summary --tree a.cairn --threshold 5%
cairn report --no-summary --tree a.cairn --top 4
cairn report --no-summary --tree a.cairn --drop parse
cairn report --no-summary --tree a.cairn --focus term
LC_ALL=C cairn report --no-summary --tree a.cairn --focus term,factor
printf 'start;run;main;loop;step;work 90\nstart;run;main;loop;step;rest 8\nstart;run;main;open;read 2\n' >folded
cairn import -o folded.cairn folded
cairn report --no-summary --tree folded.cairn
cairn report --no-summary --tree --threshold 5 folded.cairn
cairn report --no-summary --tree --threshold 5 --chains folded.cairn
cairn report --json --tree --threshold 5 folded.cairn | grep -c '"context":'
