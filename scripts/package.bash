# shellcheck shell=bash
# What the scripts that make packages have in common; they source it in the root of the repository.

# Ours, as the workspace says it.
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
readonly version

# libc_of BINARY prints the oldest C library that has every symbol the binary asks for.
libc_of() { objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -V | tail -n 1 | cut -d _ -f 2; }
