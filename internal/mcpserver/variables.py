import base64, json, types

def shape_of(value):
    try:
        if hasattr(value, "shape"):
            return str(tuple(value.shape))
        if isinstance(value, sized):
            return "len " + str(len(value))
    except Exception:
        pass
    return ""

def text_of(value):
    try:
        if isinstance(value, sized) and len(value) > 1000:
            if not isinstance(value, (str, bytes)):
                return "…"
            value = value[:1000]
        text = " ".join(repr(value)[:2000].split())
    except Exception as err:
        text = "<no repr: " + type(err).__name__ + ">"
    return text if len(text) <= 120 else text[:119] + "…"

sized = (str, bytes, list, tuple, dict, set, frozenset)
space, hidden = shell.user_ns, shell.user_ns_hidden
rows = []
for name in sorted(space) if names is None else names:
    if name not in space:
        continue
    value = space[name]
    if names is None and (name.startswith("_") or name in hidden or isinstance(value, types.ModuleType)):
        continue
    kind = type(value)
    rows.append({
        "name": name,
        "type": kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__,
        "shape": shape_of(value),
        "value": text_of(value),
    })
result = base64.b64encode(json.dumps(rows).encode()).decode()
