"""Checks which native libraries `native.py` calls harmless; follows its text."""


class Plan:
    roots = ("/venv/lib/python3/site-packages/", "/usr/lib/python3/")


def harmless(*maps):
    native = Native(Plan, [])
    uses_gpu = any(b" /dev/nvidia" in line for line in maps)
    return all(native.is_harmless(line, uses_gpu) for line in maps)


def library(path):
    return b"7f0000000000-7f0000001000 r-xp 00001000 08:01 42 " + path


def shared(path):
    return b"7f0000000000-7f0000001000 rw-s 00000000 00:01 42 " + path


for path in (
    b"/lib/x86_64-linux-gnu/libc.so.6",
    b"/usr/lib/x86_64-linux-gnu/libcuda.so.580.1",
    # The directory of the driver in containers.
    b"/usr/local/nvidia/lib64/libcuda.so.580.1",
    b"/usr/local/nvidia/lib64/libnvidia-ml.so.580.1",
    b"/venv/lib/python3/site-packages/torch/lib/libtorch_cpu.so",
):
    assert harmless(library(path)), path
for path in (
    b"/home/me/libcuda.so.580.1",
    b"/usr/lib/libmine.so",
    b"/venv/lib/python3/site-packages/mine/native.so",
):
    assert not harmless(library(path)), path
gpu, anonymous = shared(b"/dev/nvidia0"), shared(b"/dev/zero (deleted)")
assert harmless(gpu) and harmless(gpu, anonymous)
assert not harmless(anonymous)
assert not harmless(gpu, shared(b"/dev/shm/mine"))
# A parked standby has the shim, and a page that the shim shares with the helper.
native, shim = Native(Plan, []), b"/cache/libpreheat.so"
lines = library(shim), shared(RESTORE_PAGE)
assert not any(native.is_harmless(line, True) for line in lines)
native.know(os.fsdecode(shim))
assert all(native.is_harmless(line, True) for line in lines)
