"""The directory for temporary files that PyTorch 2.5 to 2.8 makes when it is imported, for
one module that it writes there. A plain start has a directory of its own, and removes it at
its end; so does each child of the warm parent."""

import os
import sys

OWNER, GENERATED = "torch.distributed.nn.jit.instantiator", "_remote_module_non_scriptable"


class Kept:
    """What the parent's directory had."""

    def __init__(self, owner):
        self.directory, self.files = owner._TEMP_DIR, {}
        path = self.directory.name
        for name in os.listdir(path):
            if name.endswith(".py"):
                with open(os.path.join(path, name), "rb") as file:
                    self.files[name] = file.read()

    def again(self):
        """In a child: a new directory takes the place of the parent's."""
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
    """In the parent: what each child makes again, if there is something; the parent's own
    directory is removed."""
    owner = sys.modules.get(OWNER)
    if not hasattr(owner, "_TEMP_DIR"):
        return None
    import shutil

    kept = Kept(owner)
    shutil.rmtree(kept.directory.name, ignore_errors=True)
    return kept
