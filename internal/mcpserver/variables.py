import base64, inspect, json, types

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
        if hasattr(value, "columns") and hasattr(value, "dtypes"):
            columns = [str(c) for c in value.columns]
            return cut(", ".join(c + " " + str(t) for c, t in zip(columns, value.dtypes)))
        if isinstance(value, types.FunctionType):
            return cut(value.__name__ + str(inspect.signature(value)))
        if isinstance(value, sized) and len(value) > 1000:
            if not isinstance(value, (str, bytes)):
                return "…"
            value = value[:1000]
        text = " ".join(repr(value)[:2000].split())
    except Exception as err:
        text = "<no repr: " + type(err).__name__ + ">"
    return cut(text)

def cut(text):
    return text if len(text) <= 120 else text[:119] + "…"

def imported(value):
    if isinstance(value, types.ModuleType):
        return True
    return isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and getattr(value, "__module__", None) != "__main__"

sized = (str, bytes, list, tuple, dict, set, frozenset)
space, hidden = shell.user_ns, shell.user_ns_hidden
rows = []
for name in sorted(space) if names is None else names:
    if name not in space:
        continue
    value = space[name]
    if names is None and (name.startswith("_") or name in hidden or imported(value)):
        continue
    kind = type(value)
    rows.append({
        "name": name,
        "type": kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__,
        "shape": shape_of(value),
        "value": text_of(value),
    })
result = base64.b64encode(json.dumps(rows).encode()).decode()
