"""Names of modules that stand for something else for a while: mock.patch.object() for those who do it 100,000 times."""

import contextlib
import typing as t

Swap = tuple[t.Any, str, t.Any]  # a module or class, a name in it, what it stands for meanwhile


@contextlib.contextmanager
def swapped(swaps: t.Sequence[Swap]) -> t.Iterator[None]:
    """Within it, these names stand for these values."""
    before = [(module, name, vars(module)[name]) for module, name, _value in swaps]
    try:
        for module, name, value in swaps:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
