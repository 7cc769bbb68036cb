"""The program that a warm parent expects: one that imports in the order of an earlier start.

The parent finds the imports that lead to this order, and prepares a *piece* for each: the modules
that it shows, and the effects that are repeated then.
"""

# The number of modules that import another one, of which `Expected.find` tries each.
MAX_ABOVE = 40


class Piece:
    """Modules that are shown together, and effects that are repeated then."""

    __slots__ = ("modules", "effects", "kept", "repeats")

    def __init__(self, steps, hidden, united):
        names = [each for each in steps if isinstance(each, str)]
        self.modules = {name: hidden[name] for name in names if name in hidden}
        effects = [each for each in steps if not isinstance(each, str)]
        self.effects = [each for each in effects if not each.is_done]
        self.kept = [each for each in effects if each.is_done]
        self.repeats = united(self.effects)


class Expected:
    """The imports of the expected program."""

    def __init__(self, nodes, kinds):
        self.nodes, self.walk, self.strings = nodes, kinds["walk"], kinds["strings"]
        # Names and effects of each piece, in order.
        self.steps = []
        # Imports that end a piece: the first piece that each may show, and the last.
        self.roots = {}
        # The pieces, and the number of the next one; None once the program has imported in another
        # order.
        self.pieces, self.next = [], 0

    def prepare(self, hidden, united):
        """After effects were undone."""
        self.pieces = [Piece(each, hidden, united) for each in self.steps]
        self.steps = []

    def take(self, name):
        """The pieces that the import of a module shows; None if it is not expected."""
        first, last = self.roots.get(name, (0, -1))
        if self.next is None or not first <= self.next <= last:
            return None
        pieces = self.pieces[self.next : last + 1]
        self.next = last + 1
        return pieces

    def leave(self, effects):
        """The program imports in another order: undoes what it would notice."""
        if self.next is None:
            return
        for piece in self.pieces[: self.next]:
            for effect in piece.effects:
                effect.is_done = True
        kept = {each for piece in self.pieces[self.next :] for each in piece.kept}
        for effect in reversed(effects):
            if effect in kept:
                effect.undo()
        self.next = None

    def find(self, order, modules):
        """Finds the imports that lead to this order, and what each shows."""
        order = [name for name in order if name in modules]
        place = {name: at for at, name in enumerate(order)}
        wanting = {}
        for name in order:
            for step in self.strings(self.nodes[name].steps) if name in self.nodes else ():
                wanting.setdefault(step, []).append(name)
        left = dict(modules)
        for at, name in enumerate(order):
            if name not in left:
                continue
            # From the first module up to the import that led to it: those that show exactly what
            # comes next.
            last, above, roots = at - 1, [name], []
            while True:
                found = [self.matches(each, left, order, place, at) for each in above]
                longest = max(found, default=-1)
                if longest <= last:
                    break
                last = longest
                roots.append(order[last])
                above = [each for each in wanting.get(order[last], ()) if place[each] > last]
                above = sorted(above, key=place.get)[:MAX_ABOVE]
            root = order[max(last, at)]
            first, shown = len(self.steps), list(self.walk(root, self.nodes, left))
            self.steps.append([])
            for each in shown:
                self.steps[-1].append(each)
                if isinstance(each, str):
                    left.pop(each, None)
                if each in roots[:-1]:
                    self.roots[each] = first, len(self.steps) - 1
                    self.steps.append([])
            self.roots[root] = first, len(self.steps) - 1

    def matches(self, name, left, order, place, at):
        """The place in the order of the last module that an import shows, if it shows exactly
        those from `at` on; otherwise -1. Entries that modules make are not in the order."""
        for each in self.walk(name, self.nodes, left):
            if each in place and each in left:
                if at == len(order) or order[at] != each:
                    return -1
                at += 1
        return at - 1

    def within(self, effects):
        """Effects that can be noticed only after a module was shown that is part of the same piece.
        They need not be undone, as long as the program imports as expected. Later effects on the
        same place are."""
        piece_of, by_place = {}, {}
        for at, piece in enumerate(self.steps):
            for each in piece:
                piece_of.setdefault(each, at)
        for effect in effects:
            by_place.setdefault(effect.place, []).append(effect)
        found = set()
        for place, changes in by_place.items():
            piece = piece_of.get(place.owner)
            for effect in changes:
                if piece is None or piece_of.get(effect) != piece:
                    break
                found.add(effect)
        return found
