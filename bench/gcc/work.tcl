# What tcl is measured on: procedures, lists, dictionaries, strings, regular expressions, expressions.
proc fib {n} { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
proc words {count} {
    set state 7
    for {set i 0} {$i < $count} {incr i} {
        set state [expr {($state * 1103515245 + 12345) & 0x7fffffff}]
        lappend text w[expr {$state % 997}]
    }
    foreach {all digits} [regexp -all -inline {w(\d+)} [join $text]] { dict incr seen $digits }
    lrange [lsort -integer -stride 2 -index 1 $seen] 0 5
}
proc strings {count} {
    set sum 0
    for {set i 0} {$i < $count} {incr i} {
        set line [format "%05d,%s,%d" $i [string repeat x [expr {$i % 7}]] [expr {$i * $i}]]
        incr sum [string length [string map {x yz , ;} $line]]
        incr sum [llength [split $line ,]]
        if {[string match "*00,*" $line]} { incr sum }
    }
    return $sum
}
proc sieve {most} {
    set marks [lrepeat $most 1]
    for {set i 2} {$i * $i < $most} {incr i} {
        if {[lindex $marks $i]} {
            for {set j [expr {$i * $i}]} {$j < $most} {incr j $i} { lset marks $j 0 }
        }
    }
    llength [lsearch -all -integer $marks 1]
}
set scale [expr {$argc ? [lindex $argv 0] : 1}]
for {set turn 0} {$turn < $scale} {incr turn} {
    puts [list [fib 19] [words 8000] [strings 20000] [sieve 60000]]
}
