"""Run the explorer's server beside a test."""

import threading
from contextlib import contextmanager

from simpleautodiff.display.explorer import server
from waiting import PATIENCE


@contextmanager
def run_server():
    """Give the port of a server that waits for its process however busy the machine is."""
    with server.make_server() as running:
        running.worker.seconds = PATIENCE
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield running.server_address[1]
        finally:
            running.shutdown()
            thread.join()
