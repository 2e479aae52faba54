"""jupyter_client at its usual settings, told by lines on stdin what to do."""
import json, sys, time
from jupyter_client.manager import start_new_kernel

manager = client = None


def start():
    global manager, client
    stop()
    manager, client = start_new_kernel(startup_timeout=120)
    return run("print('hello')")


def stop():
    if manager is not None:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(code):
    """Run code and return when its reply and its idle are there."""
    asked, streams, idle = client.execute(code), 0, False
    while not idle:
        message = client.get_iopub_msg(timeout=120)
        if message["parent_header"].get("msg_id") != asked:
            continue
        kind = message["msg_type"]
        streams += kind == "stream"
        idle = kind == "status" and message["content"]["execution_state"] == "idle"
    while client.get_shell_msg(timeout=120)["parent_header"].get("msg_id") != asked:
        pass
    return streams


for line in sys.stdin:
    task = json.loads(line)
    began = time.perf_counter()
    try:
        streams = start() if task["do"] == "start" else run(task["code"])
        answer = {"seconds": time.perf_counter() - began, "messages": streams}
    except Exception as error:
        answer = {"error": repr(error)}
    print(json.dumps(answer))
stop()
