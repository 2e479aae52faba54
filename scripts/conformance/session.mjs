// A whole session of an agent by the MCP library for TypeScript.
//
//   session.mjs stdio FOLDER PROGRAM [ARGUMENT...]
//   session.mjs http FOLDER URL        with the token in RUNT_MCP_TOKEN
//
// MCP_NODE names the folder with node_modules, FOLDER the one where the notebook
// is made. Every step is printed when it is done.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.MCP_NODE, "package.json"));
const load = (part) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${part}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { ResourceUpdatedNotificationSchema } = await load("types.js");

const done = (step, detail = "") => console.log(`ok ${step} ${detail}`.trim());
const textOf = (result) => result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n");

async function call(client, name, args = {}, options = {}) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.ok(!result.isError, `${name}: ${textOf(result)}`);
  return result;
}

const plot = `
import base64
from IPython.display import Image, display
display(Image(data=base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")))`;

async function cells(client, path) {
  assert.match(textOf(await call(client, "create_notebook", { path })), /script\.ipynb/);
  const seen = [];
  const ran = await call(client, "create_cell", { source: "x = 20\nprint('from TypeScript')\nx + 1", and_run: true, timeout_secs: 60 }, { onprogress: (p) => seen.push(p) });
  assert.match(textOf(ran), /from TypeScript[^]*21/);
  assert.ok(seen.length > 0, "no progress came");
  const cell = textOf(ran).match(/cell-[0-9a-f-]{36}/)[0];
  await call(client, "set_cell", { cell_id: cell, source: "x + 2" });
  assert.match(textOf(await call(client, "execute_cell", { cell_id: cell })), /22/);
  done("cells", `${seen.length} progress`);
  assert.match(textOf(await call(client, "create_cell", { source: "1/0", and_run: true })), /ZeroDivisionError/);
  const image = await call(client, "create_cell", { source: plot, and_run: true });
  assert.ok(image.content.some((c) => c.type === "image" && c.mimeType === "image/png"));
  done("error and image");
  return cell;
}

async function errors(client) {
  const wrong = await client.callTool({ name: "get_cell", arguments: { cell_id: "nope" } });
  assert.ok(wrong.isError && textOf(wrong).endsWith("[cell_not_found]"), textOf(wrong));
  const unknown = await client.callTool({ name: "get_cell", arguments: { cell: "nope" } });
  assert.ok(unknown.isError && textOf(unknown).endsWith("[invalid_argument]"), textOf(unknown));
  await client.callTool({ name: "no_such_tool", arguments: {} }).then((r) => assert.ok(r.isError), () => {});
  done("errors");
}

async function cancellation(client) {
  const made = textOf(await call(client, "create_cell", { source: "import time\ntime.sleep(60)" }));
  const abort = new AbortController();
  const slow = client.callTool({ name: "execute_cell", arguments: { cell_id: made.match(/cell-[0-9a-f-]{36}/)[0], timeout_secs: 90, on_timeout: "interrupt" } }, undefined, { signal: abort.signal });
  setTimeout(() => abort.abort(), 300);
  await assert.rejects(slow);
  assert.match(textOf(await call(client, "execute_code", { code: "6 * 7", timeout_secs: 60 })), /42/);
  done("cancellation");
}

async function rest(client, cell) {
  const { resources } = await client.listResources();
  assert.ok(resources.some((r) => r.uri === "runt://notebooks"));
  const listed = JSON.parse((await client.readResource({ uri: "runt://notebooks" })).contents[0].text);
  const uri = `${listed.find((n) => n.your_default).cells_uri}/${cell}`;
  assert.equal(JSON.parse((await client.readResource({ uri })).contents[0].text).source, "x + 2");
  const updated = new Promise((resolve) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => resolve(n.params.uri)));
  await client.subscribeResource({ uri });
  await call(client, "set_cell", { cell_id: cell, source: "x + 3" });
  assert.equal(await updated, uri);
  await client.unsubscribeResource({ uri });
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((p) => p.name === "fix-error"));
  assert.ok((await client.getPrompt({ name: "fix-error", arguments: { cell_id: cell } })).messages[0].content.text.includes(cell));
  const { completion } = await client.complete({ ref: { type: "ref/prompt", name: "fix-error" }, argument: { name: "cell_id", value: "cell-" } });
  assert.ok(completion.values.includes(cell), completion.values);
  done("resources, subscription, prompts, completion");
}

const [kind, folder, ...server] = process.argv.slice(2);
const transport = kind === "stdio"
  ? new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env })
  : new StreamableHTTPClientTransport(new URL(server[0]), { requestInit: { headers: { Authorization: `Bearer ${process.env.RUNT_MCP_TOKEN}` } } });
const client = new Client({ name: "typescript-library", version: "1" }, { capabilities: {} });
await client.connect(transport);
done("connected", `server ${client.getServerVersion().name}`);
const names = (await client.listTools()).tools.map((t) => t.name);
assert.ok(names.includes("execute_cell"));
done("tools", names.length);
const path = join(folder, "script.ipynb");
const cell = await cells(client, path);
await errors(client);
await cancellation(client);
await rest(client, cell);
assert.match(textOf(await call(client, "list_notebooks")), /typescript-library/);
await call(client, "save_notebook");
assert.match(await readFile(path, "utf8"), /x \+ 3/);
await call(client, "disconnect_notebook");
if (kind === "http") await transport.terminateSession();
await client.close();
done("saved and left");
