"""`/docs` lists every route and runs nothing."""

import base64
import hashlib
import re
from html import escape

from onebroker.http.route_table import ROUTES


async def test_the_page_lists_every_route_and_runs_nothing(client):
    response = await client.get("/docs")
    assert response.status_code == 200
    assert response.content_type == "text/html; charset=utf-8"
    page = await response.get_data(as_text=True)
    for row in ROUTES:
        shown = row.path.replace("<", "{").replace(">", "}")
        assert f"<code>{row.method} {escape(shown)}</code>" in page
    assert "<script" not in page
    assert re.search(r"(src|href)=.?https?:", page) is None
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
