def __runt_inspect(names):
    import json, types
    shell = get_ipython()
    space = shell.user_ns
    hidden = shell.user_ns_hidden
    rows = []
    for name in sorted(space) if names is None else names:
        if name not in space:
            continue
        value = space[name]
        if names is None and (name.startswith("_") or name in hidden or isinstance(value, types.ModuleType)):
            continue
        kind = type(value)
        shape = ""
        try:
            if hasattr(value, "shape"):
                shape = str(tuple(value.shape))
            elif isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)):
                shape = "len " + str(len(value))
        except Exception:
            pass
        try:
            if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)) and len(value) > 1000:
                text = "…"
            else:
                text = repr(value)
        except Exception as err:
            text = "<no repr: " + type(err).__name__ + ">"
        text = " ".join(text[:2000].split())
        rows.append({
            "name": name,
            "type": kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__,
            "shape": shape,
            "value": text if len(text) <= 120 else text[:119] + "…",
        })
    print(json.dumps(rows))
__runt_inspect(NAMES)
del __runt_inspect
