# Counters of spans whose times are known: in SQL, merged, and redacted.
[ -n "${CAIRN_RECORDED-}" ] || { echo "no programs of tests in this build"; exit 77; }
"$CAIRN_RECORDED" one.cairn <<'END'
lane producer
span p0 0 10 produce #0 depth=3
span p1 20 30 produce #1
lane consumer
span c0 12 25 consume #0 <p0 @8
counter p0 depth 1 5
counter p0 depth 2.5 9
counter p1 fill -1e-3 30
counter c0 depth 0 12
END
"$CAIRN_RECORDED" two.cairn <<'END'
lane other
span a 0 4 first level=1
span b 5 9 second
counter a fill 7 2
counter b depth 8 20
END
cairn query one.cairn "select name, at, value, span from counters order by at"
cairn query one.cairn "select s.name, c.name, max(value) from counters c join spans s on s.id = c.span group by 1, 2"
cairn merge -o both.cairn one.cairn two.cairn
cairn query both.cairn "select c.name, at, value, s.name from counters c join spans s on s.id = c.span order by at, value"
cairn query one.cairn two.cairn "select capture, name, at, value, span from counters where name = 'depth' order by 1, 3"
cairn redact -o redacted.cairn one.cairn >map
cairn query redacted.cairn "select count(distinct name), sum(value), sum(at), sum(name in ('depth', 'fill')) from counters"
