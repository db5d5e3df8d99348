/* What duktape is measured on: numbers, strings, objects, closures, sorting, regular expressions, JSON. */
function mandel(size) {
    var inside = 0;
    for (var i = 0; i < size; i++)
        for (var j = 0; j < size; j++) {
            var a = 0, b = 0, x = j / size * 3 - 2, y = i / size * 2.5 - 1.25, k = 0;
            for (; k < 50 && a * a + b * b < 4; k++) {
                var next = a * a - b * b + x;
                b = 2 * a * b + y;
                a = next;
            }
            inside += k === 50;
        }
    return inside;
}
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function words(count) {
    var text = [], state = 7;
    for (var i = 0; i < count; i++) {
        state = state * 1103515245 + 12345 & 0x7fffffff;
        text.push('w' + state % 997);
    }
    var seen = {};
    text.join(' ').replace(/w(\d+)/g, function (all, digits) { seen[digits] = (seen[digits] || 0) + 1; });
    return Object.keys(seen).sort(function (a, b) { return seen[b] - seen[a] || a - b; }).slice(0, 5).join();
}
function records(count) {
    var rows = [];
    for (var i = 0; i < count; i++)
        rows.push({ id: i, name: 'row ' + i, tags: ['a', 'b' + i % 9] });
    return JSON.parse(JSON.stringify(rows)).filter(function (row) { return row.id % 3 === 0; })
        .map(function (row) { return row.name.toUpperCase().length + row.tags.length; })
        .reduce(function (sum, n) { return sum + n; }, 0);
}
print(mandel(60), fib(19), words(4000), records(1500));
