printf 'note secret yes\nblock private/thing secret.c 3\n>private/thing +5 <\n' | play a.cairn
cairn export --redact --to folded -o - a.cairn
cairn export --redact --to pprof -o - a.cairn | gzip -d | grep -c -a -e private -e secret
cairn export --redact --to speedscope -o - a.cairn | grep -c -e private -e secret
