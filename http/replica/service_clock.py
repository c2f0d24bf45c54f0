"""The service's wall clock, as a replica knows it from the stream. The age of a document is judged by this clock, so a wrong clock of the
replica's machine makes nothing look fresh."""

import time

from onebroker.config.clock import Clock


class ServiceClock(Clock):
    """Wall time of the service. Before the service has ever told its time, it is that of this machine; then there is no document yet.

    A message that was delayed on its way tells an earlier time than the time that it is now. So the latest of all told times counts: a delay can
    make a document look older than it is, never fresher.
    """

    def __init__(self) -> None:
        super().__init__(wall=self._service_time)
        self._ahead: float | None = None
        """Seconds by which the service's clock is ahead of this process's monotonic clock."""
        self._is_new = True
        """Whether the next told time replaces the present one, whichever is later."""

    def told(self, service_epoch: float) -> None:
        """Take the service's time (epoch seconds), which just came."""
        ahead = service_epoch - self.monotonic()
        self._ahead = ahead if self._ahead is None or self._is_new else max(self._ahead, ahead)
        self._is_new = False

    def begin_anew(self) -> None:
        """A connection has begun: the service's clock may have been set, or another machine has its place. Until it tells its time, the time
        goes on as it was known, because documents of before are still judged by it."""
        self._is_new = True

    def _service_time(self) -> float:
        return time.time() if self._ahead is None else self.monotonic() + self._ahead
