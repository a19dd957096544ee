"""A web server on this machine, for downloads."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gapmin.datasets._files import FromUrl


class LocalServer:
    """A web server on this machine: `content` by path; the paths in `cut` break off half-way."""

    def __init__(self):
        self.content, self.cut, self.asked = {}, set(), []
        own = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                own.asked.append(self.path)
                body = own.content.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if self.path in own.cut else body)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def file(self, path, body, digest=None):
        """Publish a file, and return how to download it."""
        self.content[path] = body
        return FromUrl(self.url(path), f"sha256:{digest or hashlib.sha256(body).hexdigest()}")

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
