"""Writes down what a warm parent is good for, so that a client can tell without asking."""

import os
import sys


def write(path, socket, plan, base, found):
    """Records of three fields each, ended by NULs."""
    records = [("socket", socket, ""), ("process", str(os.getpid()), "")]
    for name in ("identity", "program", "place", "began"):
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
        # Others are nobody's business: they may be secrets.
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
    records.extend(("skeleton", name, value) for name, value in plan.skeletons)
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
    if found.end:
        # The program's own modules are what they are, and hide nothing.
        for directory in sys.path:
            records.extend(("known", each, "") for each in modules_in(directory, names))
    text = "".join(field + "\0" for record in records for field in record)
    new = path + ".new"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(fd, "wb") as file:
        file.write(os.fsencode(text) + found.ledger)
    os.rename(new, path)


def ahead(base):
    """The outermost names of what was imported ahead: the program's own modules of such
    a name would have come first."""
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


def is_within(directory, roots):
    return (directory + os.sep).startswith(roots)


def metadata(directory):
    """Changes with what packages beside the program tell of themselves, such as plugins."""
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
    """Changes when the file does; empty if there is none."""
    try:
        is_ = os.stat(path)
    except OSError:
        return ""
    return "%d %d %d" % (is_.st_mtime_ns, is_.st_size, is_.st_ino)
