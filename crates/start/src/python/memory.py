"""How much memory there is, for this process: the machine's, or less where its control
group may have less."""

import os


def available(root="/"):
    """Bytes in all, and bytes that could still be had."""
    with open(os.path.join(root, "proc/meminfo"), "rb") as file:
        lines = dict(line.split(b":") for line in file.read().splitlines())
    found = tuple(int(lines[name].split()[0]) << 10 for name in (b"MemTotal", b"MemAvailable"))
    for group in groups(root):
        # Where both are limited, the tighter one decides.
        found = min(found, group, key=lambda each: each[1])
    return found


def is_short(memory):
    """Whether less than a twentieth could be had."""
    total, left = memory
    return left * 20 < total


def groups(root):
    """The limits of the control group and of those above it, as far as there are any."""
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
        # In a container the path may be one that is only seen from outside of it.
        while True:
            yield from limit(os.path.join(root, top, path.lstrip("/")), *files)
            if path in ("", "/"):
                break
            path = os.path.dirname(path)


def limit(directory, most, now, reclaimable):
    """A group's limit and what is left of it, if it has one."""
    try:
        with open(os.path.join(directory, most)) as file:
            total = int(file.read())
        with open(os.path.join(directory, now)) as file:
            used = int(file.read())
        with open(os.path.join(directory, "memory.stat")) as file:
            stat = dict(line.split() for line in file)
    except (OSError, ValueError):
        return  # There is none, or no limit: its file says "max".
    # What files have in memory is given back where it is needed.
    yield total, max(0, total - used + int(stat.get(reclaimable, 0)))
