# Why the total changed, for people and for programs.
events() { printf '>main +10 >%s +50 >parse +100\n%s * >lex +%s <\n< < <\n' "$1" "$2" "$3"; }
events load 10 7 | play a.cairn
events load 30 7 | play more.cairn
events load 10 21 | play dearer.cairn
events retry_all 30 7 | play moved.cairn
cairn diff --why a.cairn more.cairn
cairn diff --why a.cairn dearer.cairn
cairn diff --why a.cairn moved.cairn
cairn diff --why a.cairn a.cairn
cairn diff --why --before 1 a.cairn more.cairn dearer.cairn
cairn diff --why a.cairn a.cairn more.cairn more.cairn --json
cairn diff a.cairn more.cairn moved.cairn
cairn diff --why a.cairn more.cairn moved.cairn
cairn diff --before 1 a.cairn more.cairn
cairn diff --why --metric nothing a.cairn more.cairn
# A metric that a capture lacks, on either side, also in its second run.
printf '>main @500 <\n' | play timed.cairn
cairn diff --why --metric wall timed.cairn timed.cairn a.cairn a.cairn
cairn diff --why --metric wall timed.cairn timed.cairn timed.cairn a.cairn
cairn diff --why --metric wall timed.cairn a.cairn timed.cairn timed.cairn
