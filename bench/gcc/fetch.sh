#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: fetch.sh FOLDER     fetches the sources of Debian's packages that are measured, as they
# are, into FOLDER/<package>. Needs dpkg-dev; touches no list of the system's.
set -eu
folder=$1
mkdir -p "$folder/apt/lists/partial"
folder=$(cd "$folder" && pwd)
printf 'Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n%s\n' \
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$folder/apt/source.sources"
apt() {
    apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/apt" \
        -o Dir::State::lists="$folder/apt/lists" "$@"
}
apt update
cd "$folder"
for package in sqlite3 lua5.4 lua-lpeg libzstd jq fmtlib bzip2 zlib lz4 dash bc ninja-build jansson re2 \
    tinyxml2 expat mimalloc libgc libpng1.6 pcre2 leveldb duktape minisat2 mujs mawk brotli cmark tinyscheme; do
    [ -d "$package" ] && continue
    apt source --download-only "$package"
    dpkg-source --no-check -x "$package"_*.dsc "$package.new"
    mv "$package.new" "$package"
done
