#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian packages of HEAD in build-packages/: cairn, libcairn0, libcairn-dev, cairn-doc.
#
#   scripts/package.sh          build, and have lintian look at them
#   scripts/package.sh --try    also install them in a bare Debian 12 (needs root), use them, remove
#                               and purge them, and fail if a file is left behind
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

try=
case ${1-} in
--try) try=1 ;;
'') ;;
*) die "usage: scripts/package.sh [--try]" ;;
esac

# An npm that is no Debian package will do; dpkg-buildpackage must then not look for one.
unchecked=
if command -v npm >/dev/null 2>&1; then
    [ -z "$(packages_missing npm)" ] || unchecked=-d
else
    packages_need npm
fi
# shellcheck disable=SC2086
packages_need $PACKAGES_BUILD debhelper dpkg-dev lintian fakeroot
out=$PWD/build-packages
rm -rf "$out"
mkdir -p "$out/source"
git archive HEAD | tar -x -C "$out/source"
say "Building the packages ..."
(cd "$out/source" && quietly dpkg-buildpackage -us -uc -b $unchecked)
rm -rf "$out/source"
say "Looking at them with lintian ..."
lintian --allow-root --fail-on error "$out"/*.changes
ls "$out"/*.deb
[ -n "$try" ] || exit 0

[ "$(id -u)" = 0 ] || die "--try needs root: it works in a chroot."
store=${CAIRN_BARE:-/var/tmp/cairn-bare}
[ -e "$store/base/.complete" ] || scripts/bare.sh true
room=$store/package
! grep -q " $room/" /proc/mounts || die "Something is mounted below $room: unmount it first."
rm -rf --one-file-system "$room"
cp -a "$store/base" "$room"
cp -L /etc/resolv.conf "$room/etc/resolv.conf"
mkdir "$room/packages"
cp "$out"/cairn_*.deb "$out"/libcairn0_*.deb "$out"/libcairn-dev_*.deb "$out"/cairn-doc_*.deb "$room/packages"

# Installs the dependencies first, so that only the packages change the list of files.
cat >"$room/packages/try.sh" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive
list() {
    find / -xdev \( -path /proc -o -path /packages -o -path /var/lib/dpkg -o -path /var/log \
        -o -path /var/cache -o -path /tmp \) -prune -o -print | sort
}
apt-get -q update >/dev/null
needed=$(for package in /packages/*.deb; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' |
    sed 's/ *(.*//; s/^ *//' | grep -v '^$\|^libcairn0$' | sort -u)
apt-get -q -y --no-install-recommends install $needed gcc gcc-12 libc6-dev pkg-config >/dev/null
list >/tmp/before
dpkg -i /packages/*.deb >/dev/null
cairn --version
cd /tmp
printf 'local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end print(f(20))\n' >fib.lua
cairn run -o fib.cairn fib.lua
cairn report fib.cairn | grep -q 'fib.lua:1'
cairn report --html=fib.html fib.cairn
cp -r /usr/share/doc/cairn/examples/toy .
gcc toy/toy.c -o toy/toy $(pkg-config --cflags --libs cairn)
printf 'int g(int n) { return n; } int main(void) { return g(0); }\n' >main.c
cairn cc main.c -o main
cairn run -o main.cairn ./main
cairn report main.cairn | grep -q main.c:1
cairn run --alloc -o ls.cairn /bin/ls / >/dev/null
man -w cairn-report >/dev/null 2>&1 || test -e /usr/share/man/man1/cairn-report.1.gz
apt-get -q -y purge cairn libcairn0 libcairn-dev cairn-doc >/dev/null
list >/tmp/after
diff /tmp/before /tmp/after
echo "installed, used and purged without a trace"
INSIDE
unshare --mount --propagation private --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
    exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 sh /packages/try.sh
' sh "$room"
rm -rf --one-file-system "$room"
