"""The memory of the machine, or of the control group if its limit is tighter."""

import os


def available(root="/"):
    """Returns the total and the available number of bytes."""
    with open(os.path.join(root, "proc/meminfo"), "rb") as file:
        lines = dict(line.split(b":") for line in file.read().splitlines())
    found = tuple(int(lines[name].split()[0]) << 10 for name in (b"MemTotal", b"MemAvailable"))
    for group in groups(root):
        # The tightest limit decides.
        found = min(found, group, key=lambda each: each[1])
    return found


def is_short(memory):
    """Returns True if less than a twentieth is available."""
    total, left = memory
    return left * 20 < total


def groups(root):
    """The limits of the control group and of its ancestors."""
    try:
        with open(os.path.join(root, "proc/self/cgroup")) as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return
    for _, controllers, path in lines:
        if not controllers:
            top, files = "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = "sys/fs/cgroup/memory"
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # In a container the path may only exist outside of it.
        while True:
            yield from limit(os.path.join(root, top, path.lstrip("/")), *files)
            if path in ("", "/"):
                break
            path = os.path.dirname(path)


def limit(directory, most, now, reclaimable):
    """The limit of a group and what is left of it, if it has one."""
    try:
        with open(os.path.join(directory, most)) as file:
            total = int(file.read())
        with open(os.path.join(directory, now)) as file:
            used = int(file.read())
        with open(os.path.join(directory, "memory.stat")) as file:
            stat = dict(line.split() for line in file)
    except (OSError, ValueError):
        return  # There is no such group, or its limit is "max".
    # Cached files are reclaimed when memory is needed.
    yield total, max(0, total - used + int(stat.get(reclaimable, 0)))
