#!/bin/sh
# Runs the quick tests on every Python from 3.11 on that is found here: on the PATH and under pyenv.
# Each gets a virtual environment of its own in build/, which a second run uses again.
# usage: tests/on_every_python.sh [tests]
cd "$(dirname "$0")/.." || exit 1
failed=""
tested=""
for version in 3.11 3.12 3.13 3.14; do
    for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
        "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null && break
        python=""
    done
    [ -n "$python" ] || continue
    place="build/python-$version"
    if ! { [ -d "$place" ] || "$python" -m venv "$place"; } ||
        ! "$place/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[test]'; then
        failed="$failed $version(install)"
        continue
    fi
    "$place/bin/python" -c "import retrograd.core, sys; print(sys.version.split()[0], retrograd.core.status())"
    "$place/bin/python" -m pytest -q -n 2 --dist worksteal -m "not torch and not slow" "$@" || failed="$failed $version"
    tested="$tested $version"
done
echo "tested on:$tested; failed:${failed:- none}"
[ -z "$failed" ] && [ -n "$tested" ]
