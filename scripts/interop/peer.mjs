// The JavaScript side of the interop test of internal/automerge: holds
// documents of @automerge/automerge and does with them what it is told, one
// JSON object a line on stdin, one answer a line on stdout. Bytes are base64.
import * as A from "@automerge/automerge"
import { createInterface } from "node:readline"

const docs = new Map() // name -> document
const syncs = new Map() // name -> sync state

const bytes = (b64) => new Uint8Array(Buffer.from(b64, "base64"))
const base64 = (u8) => Buffer.from(u8).toString("base64")

// plain turns what the library shows into JSON that keeps the difference
// between texts, scalar strings, bytes, times and counters.
function plain(v) {
  if (v === null || typeof v === "boolean" || typeof v === "number") return v
  if (typeof v === "bigint") return Number(v)
  if (typeof v === "string") return { text: v }
  if (A.isImmutableString(v)) return { str: v.toString() }
  if (A.isCounter(v)) return { counter: v.value }
  if (v instanceof Date) return { time: v.getTime() }
  if (v instanceof Uint8Array) return { bytes: base64(v) }
  if (Array.isArray(v)) return Array.from(v, plain)
  const out = {}
  for (const k of Object.keys(v)) out[k] = plain(v[k])
  return { map: out }
}

// random returns a generator of numbers below n that depends only on the seed.
function random(seed) {
  let s = seed >>> 0
  return (n) => {
    s = (s + 0x6d2b79f5) >>> 0
    let t = s
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) % n
  }
}

const pieces = [
  "a", "bc", " ", "\n", "é", "e\u0301", "日本", "🙂", "👩\u200d👩\u200d👧", "🏳️\u200d🌈", "\u{1F1E9}\u{1F1EA}", "\u0000", "ß\u0323", "x = 1\n",
]
const keys = ["a", "b", "c", "d", "é🙂"]

function text(r, n) {
  let s = ""
  for (let i = r(n + 1); i > 0; i--) s += pieces[r(pieces.length)]
  return s
}

function value(r, depth) {
  switch (r(depth > 0 ? 12 : 9)) {
    case 0: return null
    case 1: return r(2) === 0
    case 2: return new A.Int(r(2 ** 31) - 2 ** 30)
    case 3: return new A.Uint(r(2 ** 32))
    case 4: return new A.Float64((r(2 ** 31) - 2 ** 30) / 1024)
    case 5: return new Uint8Array([r(256), r(256)])
    case 6: return new A.Counter(r(10))
    case 7: return new Date(r(2 ** 31) * 100)
    case 8: return new A.ImmutableString(text(r, 4))
    case 9: return text(r, 6)
    case 10: return Array.from({ length: r(4) }, () => value(r, depth - 1))
    default: return Object.fromEntries(Array.from({ length: r(4) }, () => [keys[r(keys.length)], value(r, depth - 1)]))
  }
}

// boundary returns the UTF-16 position of a random code point of s.
function boundary(r, s) {
  const points = Array.from(s)
  return points.slice(0, r(points.length + 1)).join("").length
}

const isMap = (v) => v !== null && typeof v === "object" && !Array.isArray(v) && !A.isCounter(v) &&
  !A.isImmutableString(v) && !(v instanceof Date) && !(v instanceof Uint8Array)

// edit makes one random change somewhere below the root of d.
function edit(r, d) {
  let at = d
  const path = []
  for (;;) {
    const below = (Array.isArray(at) ? [...at.keys()] : Object.keys(at)).filter(
      (k) => isMap(at[k]) || Array.isArray(at[k]) || typeof at[k] === "string")
    if (below.length === 0 || r(4) === 0) break
    const k = below[r(below.length)]
    path.push(k)
    if (typeof at[k] === "string") return editText(r, d, path, at[k])
    at = at[k]
  }
  if (Array.isArray(at)) editList(r, at)
  else editMap(r, at)
}

function editText(r, d, path, s) {
  const from = boundary(r, s)
  if (r(4) === 0) {
    A.updateText(d, path, s.slice(0, from) + text(r, 4) + s.slice(from))
    return
  }
  const gone = Array.from(s.slice(from)).slice(0, r(4)).join("").length
  A.splice(d, path, from, gone, text(r, 4))
}

function editList(r, l) {
  if (l.length > 0 && r(4) === 0) l.splice(r(l.length), 1)
  else if (l.length > 0 && r(3) === 0) l[r(l.length)] = value(r, 2)
  else l.splice(r(l.length + 1), 0, value(r, 2))
}

function editMap(r, m) {
  const k = keys[r(keys.length)]
  if (typeof m[k]?.increment === "function" && r(2) === 0) m[k].increment(r(100) - 50)
  else if (r(4) === 0) delete m[k]
  else m[k] = value(r, 3)
}

const hex = (s) => Buffer.from(s).toString("hex")

const calls = {
  info: () => ({ release: A.releaseInfo() }),
  load: ({ doc, bytes: b, actor }) => {
    docs.set(doc, A.load(bytes(b), hex(actor)))
    return {}
  },
  free: ({ doc, sync }) => {
    A.free(docs.get(doc))
    docs.delete(doc)
    syncs.delete(sync)
    return {}
  },
  edit: ({ doc, seed, n }) => {
    const r = random(seed)
    docs.set(doc, A.change(docs.get(doc), { time: 0 }, (d) => {
      for (let i = 0; i < n; i++) edit(r, d)
    }))
    return {}
  },
  generate: ({ doc, sync }) => {
    const [state, msg] = A.generateSyncMessage(docs.get(doc), syncs.get(sync) ?? A.initSyncState())
    syncs.set(sync, state)
    return { bytes: msg === null ? "" : base64(msg) }
  },
  receive: ({ doc, sync, bytes: b }) => {
    const [d, state] = A.receiveSyncMessage(docs.get(doc), syncs.get(sync) ?? A.initSyncState(), bytes(b))
    docs.set(doc, d)
    syncs.set(sync, state)
    return {}
  },
  // state shows the document as it was followed by patches and, in fresh, as it
  // reads after a save and a load.
  state: ({ doc }) => {
    const d = docs.get(doc)
    const saved = A.save(d)
    const fresh = A.load(saved)
    const out = { heads: A.getHeads(d).sort(), json: plain(d), fresh: plain(fresh), bytes: base64(saved) }
    A.free(fresh)
    return out
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer
  try {
    const request = JSON.parse(line)
    answer = calls[request.op](request)
  } catch (e) {
    answer = { error: String(e?.stack ?? e) }
  }
  process.stdout.write(JSON.stringify(answer) + "\n")
}
