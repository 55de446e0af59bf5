"""What a run finds of others in its directory: the lease of a process, and a file system that is full."""

import contextlib
import resource
import socket
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import processes
from ansible_collections.streamshift.kafka.plugins.module_utils._model.lease import Lease


def lease_of(process: int) -> Lease:
    """What holds a directory for a process of this machine."""
    its = processes.start_ticks(process), processes.started(process)
    return Lease(socket.gethostname(), processes.process_namespace(), process, *its)


@contextlib.contextmanager
def room_for(size: int) -> t.Iterator[None]:
    """No file of this process can grow beyond so many bytes meanwhile, as where a file system is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
