#!/usr/bin/env python3
"""Lets tests without a GPU import PyTorch from PyPI without 3 GB of CUDA libraries.

    cuda_stubs.py SITE-PACKAGES

The PyTorch libraries are linked with cuBLAS, cuDNN, NCCL and others, which the loader needs even if
no GPU is used. For every such library that is not installed, this script writes a library of that
name beside those of PyTorch, with the symbols and versions that PyTorch refers to. They end the
process if they are called. The CUDA runtime must be the real one: PyTorch asks it for devices.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main():
    packages = pathlib.Path(sys.argv[1])
    beside = packages / "torch" / "lib"
    installed = {path.name for path in beside.iterdir()}
    installed |= {path.name for path in packages.glob("nvidia/**/*.so*")}
    installed |= set(re.findall(r"^\s+(\S+) \(", output("/sbin/ldconfig", "-p"), re.MULTILINE))
    missing = set()
    versions = collections.defaultdict(set)
    symbols = collections.defaultdict(set)
    for library in beside.glob("*.so"):
        missing |= set(re.findall(r"\(NEEDED\).*\[(\S+)\]", output("readelf", "-dW", library))) - installed
        at = None
        for file, version in re.findall(r"File: (\S+)|Name: (\S+)", output("readelf", "-VW", library)):
            at = file or at
            if version and at:
                versions[at].add(version)
        for name, version in re.findall(r" U (\w+)(?:@(\S+))?$", output("nm", "-D", "--undefined-only", library), re.MULTILINE):
            symbols[version].add(name)
    # libcuda belongs to the driver: PyTorch loads it only where there is one.
    for name in sorted(missing - {"libcuda.so.1"}):
        # Symbols without a version are recognized by their prefix: libcufile has cuFileRead.
        prefix = name.removeprefix("lib").split(".so")[0]
        found = {version: symbols[version] for version in sorted(versions[name])}
        found[""] = {symbol for symbol in symbols[""] if symbol.lower().startswith(prefix.lower())}
        every = sorted(set().union(*found.values()))
        code = "".join(f"void {symbol}(void) {{ __builtin_trap(); }}\n" for symbol in every)
        script = "".join(
            f"{version} {{ {' '.join(f'{symbol};' for symbol in sorted(of_version))} }};\n"
            for version, of_version in found.items()
            if version
        )
        with tempfile.NamedTemporaryFile("w", suffix=".map") as versions_file:
            versions_file.write(script)
            versions_file.flush()
            command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", beside / name, f"-Wl,-soname,{name}"]
            if script:
                command.append(f"-Wl,--version-script={versions_file.name}")
            subprocess.run(command, check=True, input=code, text=True)


main()
