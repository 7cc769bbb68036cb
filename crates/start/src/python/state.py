"""Writes the state of a warm parent, by which clients decide whether it matches a start."""

import os
import sys


def write(path, socket, plan, base, found):
    """Writes records of three fields each, terminated by NULs."""
    records = [("socket", socket, ""), ("process", str(os.getpid()), "")]
    for name in ("identity", "keyring", "program", "place", "began"):
        records.append((name, plan.one[name], ""))
    records.append(("learned", plan.one["learned"], plan.stamp))
    data, asked = base.given, found.asked
    given = {os.fsdecode(name): os.fsdecode(value) for name, value in data.items()}
    if asked.everything:
        records.append(("all-variables", "", ""))
    records.extend(("beginning", each, "") for each in sorted(asked.beginnings))
    records.extend(("ending", each, "") for each in sorted(asked.endings))
    matter = asked.names(given)
    for name, value in given.items():
        # The others are left out: they may be secrets.
        if asked.everything or name in matter or name.startswith(plan.always):
            records.append(("environment", name, value))
    for name in sorted(asked.variables):
        shown = "=" + given[name] if name in given else ""
        records.append(("variable", name, shown))
    if found.arguments:
        records.append(("arguments", "", ""))
        records.extend(("argument", each, "") for each in plan.arguments)
    for name, why in found.left_out:
        records.append(("left-out", name, why))
    records.extend(("own", name, value) for name, value in plan.own)
    for name, value in plan.skeletons:
        records.append(("skeleton", name, value + "\n" + found.uses.get(name, "")))
    records.extend(("absent", name, "") for name in sorted({*plan.absent, *found.sought}))
    for directory in sys.path:
        if os.path.isdir(directory):
            records.append(("directory", directory, ""))
    for directory in [plan.first] + sys.path:
        if directory and not is_within(directory, plan.roots):
            records.append(("metadata", directory, metadata(directory)))
    if found.end:
        records.append(("prefix", found.end.where, found.end.why))
    names = ahead(base) | found.searched
    records.extend(("name", name, "") for name in sorted(names))
    if found.uses_streams:
        records.append(("streams", "", ""))
    for name in sorted(names):
        # Another directory of this name would be a part of it.
        parts = parts_of_namespace(plan.names_of(sys.modules.get(name)))
        records.extend(("namespace", name, part) for part in parts)
    if found.end:
        # Existing modules of the program were found by its first lines, and hide nothing.
        for directory in sys.path:
            records.extend(("known", each, "") for each in modules_in(directory, names))
    text = "".join(field + "\0" for record in records for field in record)
    new = path + ".new"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file:
        file.write(os.fsencode(text) + found.ledger)
    os.rename(new, path)


def ahead(base):
    """The top-level names of the modules that were imported ahead: a module of the program
    with such a name would have been found first."""
    return {name.partition(".")[0] for name in set(sys.modules) - base.modules}


def modules_in(directory, names):
    """Files in a directory that may be modules with these names."""
    try:
        files = os.listdir(directory)
    except OSError:
        return
    for file in files:
        path = os.path.join(directory, file)
        if file.partition(".")[0] in names:
            yield path
            if os.path.isdir(path):
                for inner in os.listdir(path):
                    if inner.startswith("__init__."):
                        yield os.path.join(path, inner)


def parts_of_namespace(names):
    """The directories of a package without `__init__`; none for other modules."""
    if names.get("__file__") is not None:
        return []
    return [part for part in names.get("__path__") or () if isinstance(part, str)]


def is_within(directory, roots):
    return (directory + os.sep).startswith(roots)


def metadata(directory):
    """A stamp of the metadata of the packages in a directory, such as entry points."""
    try:
        names = sorted(map(os.fsencode, os.listdir(directory)))
    except OSError:
        return ""
    shown = ""
    for name in names:
        if name.endswith((b".egg-info", b".dist-info", b".egg-link")):
            path = os.path.join(os.fsencode(directory), name)
            points = os.path.join(path, b"entry_points.txt")
            shown += "%s %s;" % (stamp(path), stamp(points))
    return shown


def stamp(path):
    """A stamp that changes when the file does; empty if the file is missing."""
    try:
        is_ = os.stat(path)
    except OSError:
        return ""
    times = is_.st_mtime_ns, is_.st_ctime_ns
    return "%d %d %d %d %d" % (times + (is_.st_size, is_.st_ino, is_.st_dev))
