#!/usr/bin/env python3
"""Lets the system's linker produce programs that run with an older glibc.

A linker binds every function to the newest version that this machine's glibc has, so a
program built on a new system does not load on an old one, even if it uses nothing new.
glibc keeps the old versions for existing programs. This script reads them from this
machine's glibc and writes stub libraries that offer, for each function, the newest version
up to the wanted one, in the library that had it then (glibc 2.34 moved libpthread, libdl,
librt and libutil into libc). It also writes `linker`, which calls `cc` with the stubs:

    packaging/old_glibc.py target/glibc-2.28 2.28
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=$PWD/target/glibc-2.28/linker cargo build

A function that is newer than the wanted version is missing from the stubs: weak references
to it become null, and others are an error when linking. The C runtime objects (crt1.o) are
this machine's; with them, glibc before 2.34 does not run constructors of the executable
itself. Rust programs have none that matter: the standard library stores the arguments in
one, and again when it starts.
"""

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

# The libraries that were separate before glibc 2.34, and the names of their functions.
MOVED = {
    "libpthread.so.0": r"_*(pthread|sem)_",
    "libdl.so.2": r"dl",
    "librt.so.1": r"(mq|timer|aio|lio|shm)_",
    "libutil.so.1": r"(openpty|forkpty|login|logout|login_tty|logwtmp)$",
}
# Functions that moved have a second version, from this one on.
MOVED_SINCE = (2, 30)

# Until glibc 2.33, these were inlined into programs: calls with the number of the layout.
STAT = """
int __xstat(int, const char *, void *);
int __lxstat(int, const char *, void *);
int __fxstat(int, int, void *);
int __fxstatat(int, int, const char *, void *, int);
int __xstat64(int, const char *, void *);
int __lxstat64(int, const char *, void *);
int __fxstat64(int, int, void *);
int __fxstatat64(int, int, const char *, void *, int);
#ifdef __x86_64__
#define LAYOUT 1
#else
#define LAYOUT 0
#endif
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN int stat(const char *path, void *out) { return __xstat(LAYOUT, path, out); }
HIDDEN int lstat(const char *path, void *out) { return __lxstat(LAYOUT, path, out); }
HIDDEN int fstat(int file, void *out) { return __fxstat(LAYOUT, file, out); }
HIDDEN int fstatat(int at, const char *path, void *out, int flags) {
    return __fxstatat(LAYOUT, at, path, out, flags);
}
HIDDEN int stat64(const char *path, void *out) { return __xstat64(LAYOUT, path, out); }
HIDDEN int lstat64(const char *path, void *out) { return __lxstat64(LAYOUT, path, out); }
HIDDEN int fstat64(int file, void *out) { return __fxstat64(LAYOUT, file, out); }
HIDDEN int fstatat64(int at, const char *path, void *out, int flags) {
    return __fxstatat64(LAYOUT, at, path, out, flags);
}
"""


def number(version):
    """`GLIBC_2.2.5` or `2.2.5` as (2, 2, 5); None for GLIBC_PRIVATE."""
    digits = re.fullmatch(r"(?:GLIBC_)?(\d+(?:\.\d+)+)", version)
    return digits and tuple(int(part) for part in digits[1].split("."))


def compiler_file(name):
    """The path of a file that the C compiler knows."""
    path = subprocess.run(
        ["cc", f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"old_glibc.py: cc has no {name}; install the C library's development files")
    return path


def symbols(library):
    """Each symbol of a library with all its versions: name → [(version, type, size)]."""
    table = subprocess.run(
        ["readelf", "-W", "--dyn-syms", library], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    found = defaultdict(list)
    for line in table.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] == "UND" or "@" not in fields[7]:
            continue
        name, version = fields[7].replace("@@", "@").split("@")
        if fields[3] in ("FUNC", "IFUNC", "OBJECT") and fields[6] != "ABS" and number(version):
            found[name].append((version, fields[3], int(fields[2], 0)))
    return found


def write_stub(directory, soname, wanted):
    """Makes one stub library. `wanted`: name → (version, type, size)."""
    assembly, versions = [], {version for version, _, _ in wanted.values()}
    for index, (name, (version, kind, size)) in enumerate(sorted(wanted.items())):
        local = f"stub_{index}"
        section, kind = (".data", "object") if kind == "OBJECT" else (".text", "function")
        assembly += [
            section,
            f".globl {local}",
            f".type {local}, %{kind}",
            f"{local}: .zero {max(size, 1) if kind == 'object' else 1}",
            f".size {local}, {size if kind == 'object' else 1}",
            f".symver {local}, {name}@@{version}, remove",
        ]
    source, script = directory / f"{soname}.s", directory / f"{soname}.map"
    source.write_text("\n".join(assembly + ['.section .note.GNU-stack,"",%progbits', ""]))
    script.write_text("".join(f"{version} {{ }};\n" for version in sorted(versions, key=number)))
    subprocess.run(
        ["cc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}"]
        + ["-o", directory / soname, source],
        check=True,
    )
    link = directory / (soname.split(".so")[0] + ".so")
    if not soname.startswith(("libc.so", "ld-")):
        link.unlink(missing_ok=True)
        link.symlink_to(soname)


def main():
    if len(sys.argv) != 3 or number(sys.argv[2]) is None:
        sys.exit("usage: old_glibc.py DIRECTORY VERSION   (for example target/glibc-2.28 2.28)")
    directory, newest = Path(sys.argv[1]).absolute(), number(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    libc = compiler_file("libc.so.6")
    loader = next(iter(sorted(Path(libc).resolve().parent.glob("ld-linux*.so.*"))), None)
    if loader is None:
        sys.exit(f"old_glibc.py: no dynamic loader beside {libc}; this needs glibc")

    stubs = {"libc.so.6": {}, "libm.so.6": {}, loader.name: {}, **{name: {} for name in MOVED}}
    for soname, file in (
        ("libc.so.6", libc),
        ("libm.so.6", compiler_file("libm.so.6")),
        (loader.name, loader),
    ):
        for name, offered in symbols(file).items():
            old = [each for each in offered if number(each[0]) <= newest]
            if not old:
                continue
            has_moved = len(offered) > len(old) and any(
                number(version) >= MOVED_SINCE for version, _, _ in offered
            )
            home = soname
            if has_moved and soname == "libc.so.6":
                home = next((lib for lib, names in MOVED.items() if re.match(names, name)), soname)
            stubs[home][name] = max(old, key=lambda each: number(each[0]))
    for soname, wanted in stubs.items():
        write_stub(directory, soname, wanted)

    (directory / "stat.c").write_text(STAT)
    subprocess.run(
        ["cc", "-O2", "-fPIC", "-fno-builtin", "-c", "stat.c", "-o", "stat.o"],
        cwd=directory,
        check=True,
    )
    subprocess.run(["ar", "rcsD", "libstat.a", "stat.o"], cwd=directory, check=True)
    (directory / "libc.so").write_text(
        f"GROUP ( {directory}/libc.so.6 {directory}/libstat.a {compiler_file('libc_nonshared.a')}"
        f" AS_NEEDED ( {directory}/{loader.name} ) )\n"
    )
    linker = directory / "linker"
    # Other libraries of this machine, such as libgcc_s, need functions that the stubs lack.
    linker.write_text(
        f'#!/bin/sh\nexec cc -L"{directory}" -Wl,--allow-shlib-undefined "$@"\n'
    )
    linker.chmod(0o755)


if __name__ == "__main__":
    main()
