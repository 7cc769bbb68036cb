"""Keeps the garbage collector where a plain start would have it.

Python collects garbage after so many allocations. What preheat allocates in the warm parent must
not count, or objects of the program's first lines would be finalized earlier than in a plain
start. So the counts are set to what they were before preheat began: an object that is freed
lowers the first one, an object that is made raises it.
"""


class Spare:
    """An object that counts: of a type with a slot, for which Python keeps no free list."""

    __slots__ = ("slot",)


# The number of objects that can be freed.
MANY = 4000


class Collector:
    def __init__(self, gc, counts):
        self.gc, self.counts = gc, counts
        self.spare = [Spare() for _ in range(MANY)]

    def begin(self):
        """Before the program's first lines."""
        self.gc.collect()
        # Each collection of a generation raises the count of the next older one.
        for generation in (1, 0):
            for _ in range(self.counts[generation + 1]):
                self.gc.collect(generation)
        self.match(self.counts[0])

    def pause(self):
        """After them."""
        self.is_enabled = self.gc.isenabled()
        self.gc.disable()
        self.count = self.gc.get_count()[0]

    def resume(self):
        """The program goes on."""
        self.match(self.count)
        if self.is_enabled:
            self.gc.enable()

    def match(self, count):
        while self.spare and self.gc.get_count()[0] > count:
            self.spare.pop()
        while self.gc.get_count()[0] < count:
            self.spare.append(Spare())
