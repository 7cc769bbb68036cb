"""The temporary directory that PyTorch 2.5 to 2.8 creates when it is imported, for a module
that it generates there. A plain start has its own directory, and removes it on exit; so does
each child of the warm parent."""

import os
import sys

OWNER, GENERATED = "torch.distributed.nn.jit.instantiator", "_remote_module_non_scriptable"


class Kept:
    """The contents of the parent's directory."""

    def __init__(self, owner):
        self.directory, self.files = owner._TEMP_DIR, {}
        path = self.directory.name
        for name in os.listdir(path):
            if name.endswith(".py"):
                with open(os.path.join(path, name), "rb") as file:
                    self.files[name] = file.read()

    def is_used(self):
        return OWNER in sys.modules

    def again(self):
        """In a child: replaces the parent's directory with a new one."""
        import tempfile
        import weakref

        old, new = self.directory.name, tempfile.mkdtemp()
        for name, content in self.files.items():
            with open(os.path.join(new, name), "wb") as file:
                file.write(content)
        there = self.directory._finalizer.detach()
        if there:
            of, function, arguments, named = there
            renamed = [new if each == old else each for each in arguments]
            self.directory._finalizer = weakref.finalize(of, function, *renamed, **named)
        self.directory.name = new
        sys.modules[OWNER].INSTANTIATED_TEMPLATE_DIR_PATH = new
        sys.path[:] = [new if path == old else path for path in sys.path]
        sys.path_importer_cache.pop(old, None)
        module = sys.modules.get(GENERATED)
        if module is not None:
            module.__file__ = module.__spec__.origin = os.path.join(new, GENERATED + ".py")
            module.__loader__.path = module.__file__


def take():
    """In the parent: stores the contents, which each child creates again, and removes the
    parent's directory. Returns None if there is none."""
    owner = sys.modules.get(OWNER)
    if not hasattr(owner, "_TEMP_DIR"):
        return None
    import shutil

    kept = Kept(owner)
    shutil.rmtree(kept.directory.name, ignore_errors=True)
    return kept
