# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Questions to brokers that do not need each other's answers: asked together, they wait for one round trip."""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

from .admin_client import AdminClient, Request, exchange

T = t.TypeVar("T")


@dataclasses.dataclass(slots=True)
class BrokerQuestion(t.Generic[T]):
    """Requests, and what their answers come to, which may raise."""

    requests: t.Sequence[Request]
    read: t.Callable[[t.Sequence[t.Any]], T]
    answers: t.Sequence[t.Any] = ()

    def answer(self) -> T:
        return self.read(self.answers)


def ask_together(client: AdminClient, *questions: BrokerQuestion[t.Any]) -> None:
    """Ask all of them in the time of one round trip. A broker answers them in this order, as if they were asked one by one."""
    answers = iter(exchange(client, [request for question in questions for request in question.requests]))
    for question in questions:
        question.answers = list(itertools.islice(answers, len(question.requests)))


def answer_to(client: AdminClient, question: BrokerQuestion[T]) -> T:
    """The answer to a single one."""
    ask_together(client, question)
    return question.answer()
