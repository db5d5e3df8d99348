# Without a capture, commands read the one of the folder that was made last.
made() {
    sleep 0.02 # more than the file system's clock needs to tell two files apart
    printf '>%s +1 <\n' "$1" | play "$2"
}
made old old.cairn
made spaces 'a b.cairn'
made new new.cairn
made child new.77.cairn
made child new.77.2.cairn
made other other
# As a page that is written again, where the file system knows when a file was made.
[ "$(stat -c %W old.cairn)" -le 0 ] || touch -d '2099-01-01 00:00:00' old.cairn
mkfifo pipe.cairn
mkdir folder.cairn
cairn report | grep new
cairn query 'SELECT count(*) FROM contexts'
cairn query 'a b.cairn' | sed -n 1p
cairn query 'no such.cairn'
cairn spans
made last new.78.9x.cairn
cairn export --to folded -o - --metric calls
made last 80.cairn
cairn top --once | grep -o '^80\.cairn  ended'
cairn top --once --pid 999999999
cairn explain
