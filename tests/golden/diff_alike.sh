# Functions without names are matched by their order.
play a.cairn <<'END'
block main a.lua 1
block function_<a.lua:10> a.lua 10 main
block function_<a.lua:20> a.lua 20 main
>main 
10 * >function_<a.lua:10> +1 <
20 * >function_<a.lua:20> +1 <
END
play b.cairn <<'END'
block main a.lua 1
block function_<a.lua:13> a.lua 13 main
block function_<a.lua:23> a.lua 23 main
>main
10 * >function_<a.lua:13> +1 <
21 * >function_<a.lua:23> +1 <
END
cairn diff a.cairn b.cairn | tail -n +4
