"""A whole session of an agent by the MCP library for Python.

    session.py stdio FOLDER PROGRAM [ARGUMENT...]
    session.py http FOLDER URL        with the token in RUNT_MCP_TOKEN

FOLDER is where the notebook is made. Every step is printed when it is done.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

PLOT = """
import base64
from IPython.display import Image, display
display(Image(data=base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")))
"""


def done(step, detail=""):
    print(f"ok {step} {detail}".strip(), flush=True)


def text_of(result):
    return "\n".join(c.text for c in result.content if c.type == "text")


async def call(client, tool, **arguments):
    progress = arguments.pop("progress", None)
    result = await client.call_tool(tool, arguments, progress_callback=progress)
    if result.is_error:
        raise AssertionError(f"{tool}: {text_of(result)}")
    return result


def word(text, begins):
    return next(w.strip(",.") for w in text.split() if w.startswith(begins))


async def tools(client):
    names = [t.name for t in (await client.list_tools()).tools]
    assert {"create_notebook", "execute_cell", "get_results"} <= set(names), names
    done("tools", str(len(names)))


async def cells(client, path):
    created = text_of(await call(client, "create_notebook", path=path))
    assert path in created, created
    seen = []

    async def progress(value, total, message):
        seen.append((value, message))

    ran = await call(client, "create_cell", source="x = 20\nprint('from Python')\nx + 1", and_run=True, timeout_secs=60, progress=progress)
    text = text_of(ran)
    assert "from Python" in text and "21" in text, text
    assert seen, "no progress came"
    cell = word(text, "cell-")
    await call(client, "set_cell", cell_id=cell, source="x + 2")
    assert "22" in text_of(await call(client, "execute_cell", cell_id=cell)), "the edit is not in the run"
    done("cells", f"{len(seen)} progress")
    failed = await call(client, "create_cell", source="1/0", and_run=True)
    assert "ZeroDivisionError" in text_of(failed) and not failed.is_error
    plot = await call(client, "create_cell", source=PLOT, and_run=True)
    assert any(c.type == "image" and c.mime_type == "image/png" for c in plot.content), plot
    done("error and image")
    return cell


async def errors(client):
    wrong = await client.call_tool("get_cell", {"cell_id": "nope"})
    assert wrong.is_error and text_of(wrong).endswith("[cell_not_found]"), wrong
    unknown = await client.call_tool("get_cell", {"cell": "nope"})
    assert unknown.is_error and text_of(unknown).endswith("[invalid_argument]"), unknown
    try:
        result = await client.call_tool("no_such_tool", {})
        assert result.is_error, result
    except MCPError:
        pass
    done("errors")


async def rest(client, cell):
    uris = [str(r.uri) for r in (await client.list_resources()).resources]
    assert "runt://notebooks" in uris, uris
    listed = json.loads((await client.read_resource("runt://notebooks")).contents[0].text)
    mine = next(n for n in listed if n["your_default"])
    shown = json.loads((await client.read_resource(f"{mine['cells_uri']}/{cell}")).contents[0].text)
    assert shown["source"] == "x + 2", shown
    prompts = [p.name for p in (await client.list_prompts()).prompts]
    assert "fix-error" in prompts, prompts
    prompt = await client.get_prompt("fix-error", {"cell_id": cell})
    assert cell in prompt.messages[0].content.text
    done("resources and prompts")


async def session(server, folder):
    async with Client(server, client_info=Implementation(name="python-library", version="1")) as client:
        done("connected", f"protocol {client.protocol_version}")
        await tools(client)
        cell = await cells(client, os.path.join(folder, "python.ipynb"))
        await errors(client)
        await rest(client, cell)
        assert "python-library" in text_of(await call(client, "list_notebooks"))
        await call(client, "save_notebook")
        with open(os.path.join(folder, "python.ipynb"), encoding="utf-8") as f:
            assert "x + 2" in f.read()
        await call(client, "disconnect_notebook")
        done("saved and left")


async def main():
    kind, folder, *server = sys.argv[1:]
    if kind == "stdio":
        await session(StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ)), folder)
        return
    headers = {"Authorization": "Bearer " + os.environ["RUNT_MCP_TOKEN"]}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        await session(streamable_http_client(server[0], http_client=http), folder)


asyncio.run(main())
