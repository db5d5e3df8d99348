# Libraries that few commands need are not loaded when the tool starts. Prints those that are.
ldd "$CAIRN_TOOL" | grep -o -E 'lib(curl|microhttpd|gnutls|ssl)[^ ]*' || echo none
# A command that needs one loads it, and finds here that nothing listens on the port.
echo '>main <' | play x.cairn
cairn push --to clickhouse://127.0.0.1:1/runs --retry 0 x.cairn 2>&1 | sed 's/after.*//'
