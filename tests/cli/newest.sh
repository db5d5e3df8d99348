# Without a capture, commands read the newest one of the folder.
printf '>old +1 <\n' | play old.cairn
printf '>new +1 <\n' | play new.cairn
printf '>other +1 <\n' | play other
cp new.cairn 'a b.cairn'
touch -d '2020-01-01 00:00:00' old.cairn
touch -d '2020-01-02 00:00:00' new.cairn
touch -d '2020-01-01 00:00:00.5' 'a b.cairn'
mkfifo pipe.cairn
mkdir folder.cairn
cairn report | grep new
cairn query 'SELECT count(*) FROM contexts'
cairn query 'a b.cairn' | sed -n 1p
cairn spans
touch -d '2020-01-03 00:00:00' old.cairn
cairn export --to folded -o - --metric calls
cairn top --once | grep -c old
cairn top --once --pid 999999999
cairn explain
