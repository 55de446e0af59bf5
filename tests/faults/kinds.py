"""The kinds of fault: what each does to a module that works, to Spark, to brokers and to the network, and how it ends."""

import contextlib
import functools
import os
import random
import signal
import typing as t

from tests.faults.attempts import TRANSACTION_SECONDS, Attempt
from tests.faults.bed import REQUEST_TIMEOUT, Bed
from tests.faults.proxy import Proxy

Heal = t.Callable[[], t.Any]
STOPS, GOES_ON, KILLS = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL
SPARK_TRANSACTION_SECONDS = 60.0  # of the product, which is as it is where Spark's workers copy


class Scene(t.NamedTuple):
    """What a fault can be done to."""

    bed: Bed
    attempt: Attempt
    random: random.Random


class Kind(t.NamedTuple):
    """strike: does it, and returns what ends it; None where there is nothing to do it to. seconds: how long it lasts.

    weight: how often it is drawn. where: "spark" or "threads" alone, "" for both. copies: only where records are copied.
    ends: whether the module is dead after it.
    """

    name: str
    weight: float
    seconds: tuple[float, float]
    strike: t.Callable[[Scene], Heal | None]
    where: str = ""
    copies: bool = False
    ends: bool = False

    def fits(self, spark: bool, copies: bool) -> bool:
        """Whether it can happen to a module that does, or does not, use Spark and copy."""
        return self.where in ("", "spark" if spark else "threads") and (copies or not self.copies)


def _signal(pids: t.Iterable[int], how: signal.Signals) -> int:
    """-> how many there were."""
    count = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
            count += 1
    return count


def _nothing() -> None:
    pass


def _killed(victims: t.Callable[[Scene], t.Sequence[int]], scene: Scene) -> Heal | None:
    return _nothing if _signal(victims(scene), KILLS) else None


def _frozen(victims: t.Callable[[Scene], t.Sequence[int]], scene: Scene) -> Heal | None:
    pids = victims(scene)
    return functools.partial(_signal, pids, GOES_ON) if _signal(pids, STOPS) else None


def _module(scene: Scene) -> list[int]:
    return [scene.attempt.pid] if scene.attempt.running() else []


def _everything(scene: Scene) -> list[int]:
    return scene.attempt.processes() if scene.attempt.running() else []


def _java(scene: Scene) -> list[int]:
    return scene.attempt.java()


def _worker(scene: Scene) -> list[int]:
    workers = scene.attempt.workers()
    return [scene.random.choice(workers)] if workers else []


def _workers(scene: Scene) -> list[int]:
    return scene.attempt.workers()


def _brokers_killed(count: int, scene: Scene) -> Heal:
    side = scene.bed.destination
    side.kill(scene.random.sample(range(1, side.cluster.nodes + 1), count))
    return side.revive


def _source_killed(scene: Scene) -> Heal:
    scene.bed.source.kill([1])
    return scene.bed.source.revive


def _broker_frozen(scene: Scene) -> Heal:
    side = scene.bed.destination
    side.freeze(scene.random.randint(1, side.cluster.nodes))
    return side.thaw


def _network(change: t.Callable[[Proxy], None], scene: Scene) -> Heal:
    """To one broker, to one cluster, or to both."""
    source, destination = scene.bed.source.proxies, scene.bed.destination.proxies
    chosen = scene.random.choice([source, destination, source + destination, [scene.random.choice(destination)]])
    for proxy in chosen:
        change(proxy)

    def heal() -> None:
        for proxy in chosen:
            proxy.heal()

    return heal


def _slow(scene: Scene) -> Heal:
    seconds = scene.random.uniform(0.02, 0.2)
    return _network(lambda proxy: proxy.slow(seconds), scene)


MODULE_KILLED = Kind("module killed", 4, (0, 0), functools.partial(_killed, _module), ends=True)
KINDS = (
    MODULE_KILLED,
    Kind("module frozen", 2, (0.5, 4), functools.partial(_frozen, _module)),
    Kind(
        "frozen past its transactions' timeout", 1, (TRANSACTION_SECONDS + 1, TRANSACTION_SECONDS + 3),
        functools.partial(_frozen, _everything), where="threads", copies=True,
    ),
    Kind(
        "worker frozen past its transactions' timeout", 0.25,
        (SPARK_TRANSACTION_SECONDS + 2, SPARK_TRANSACTION_SECONDS + 4),
        functools.partial(_frozen, _worker), where="spark", copies=True,
    ),
    Kind("Java killed", 2, (0, 0), functools.partial(_killed, _java), where="spark"),
    Kind("Java frozen", 1.5, (0.5, 4), functools.partial(_frozen, _java), where="spark"),
    Kind("Python worker killed", 4, (0, 0), functools.partial(_killed, _worker), where="spark"),
    Kind("all Python workers killed", 2, (0, 0), functools.partial(_killed, _workers), where="spark"),
    Kind("Python worker frozen", 2, (0.5, 5), functools.partial(_frozen, _worker), where="spark"),
    Kind("a broker killed", 1, (0, 2), functools.partial(_brokers_killed, 1)),
    Kind("two brokers of three killed", 0.6, (0, 2), functools.partial(_brokers_killed, 2)),
    Kind("the source's broker killed", 0.6, (0, 2), _source_killed),
    Kind("a broker frozen", 2, (0.5, 5), _broker_frozen),
    Kind("connections cut", 4, (0, 0), functools.partial(_network, Proxy.cut)),
    Kind("connections refused", 2, (0.3, 3), functools.partial(_network, Proxy.refuse)),
    Kind("black hole", 2, (0.5, 4), functools.partial(_network, Proxy.swallow)),
    Kind(
        "black hole, longer than a request's timeout", 0.5, (REQUEST_TIMEOUT + 2, REQUEST_TIMEOUT + 4),
        functools.partial(_network, Proxy.swallow),
    ),
    Kind("connections delayed", 2, (1, 4), _slow),
)  # fmt: skip


def named(words: t.Sequence[str]) -> tuple[Kind, ...]:
    """The kinds that have one of these words in their names; without words, all."""
    return tuple(kind for kind in KINDS if not words or any(word in kind.name for word in words))


def draw(chance: random.Random, among: t.Sequence[Kind], spark: bool, copies: bool) -> Kind | None:
    """A kind that fits; None where none does."""
    fitting = [kind for kind in among if kind.fits(spark, copies)]
    return chance.choices(fitting, [kind.weight for kind in fitting])[0] if fitting else None
