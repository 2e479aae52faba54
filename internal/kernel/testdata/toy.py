"""A toy kernel for a language of one-word commands, for the tests of package kernel.

It speaks just enough of the Jupyter protocol, and on demand breaks it in ways
that real kernels were seen to.
"""
import hashlib, hmac, json, os, signal, subprocess, sys, time, uuid
import zmq

info = json.load(open(sys.argv[1]))
if info["transport"] == os.environ.get("TOY_REFUSES"):
    sys.exit("this kernel knows nothing of " + info["transport"])
if "TOY_PORT_TAKEN" in os.environ and not os.path.exists(os.environ["TOY_PORT_TAKEN"]):
    open(os.environ["TOY_PORT_TAKEN"], "w").close()
    sys.exit("zmq.error.ZMQError: Address already in use")
if "TOY_FAILS" in os.environ:
    sys.exit(os.environ["TOY_FAILS"])
if "TOY_HANGS" in os.environ:
    time.sleep(600)
if os.environ.get("TOY_INTERRUPTS") == "message":
    signal.signal(signal.SIGINT, lambda *_: os._exit(99))
else:
    signal.signal(signal.SIGINT, lambda *_: interrupted.append(1))

context = zmq.Context()
key = info["key"].encode()
session = uuid.uuid4().hex
interrupted = []
count = 0
refused = set()


def bind(kind, name):
    s = context.socket(kind)
    s.sndhwm = 0  # it is the host that is tested, not what libzmq drops
    port = info[name + "_port"]
    s.bind("ipc://%s-%d" % (info["ip"], port) if info["transport"] == "ipc" else "tcp://%s:%d" % (info["ip"], port))
    return s


shell, control, stdin = bind(zmq.ROUTER, "shell"), bind(zmq.ROUTER, "control"), bind(zmq.ROUTER, "stdin")
iopub, heartbeat = bind(zmq.PUB, "iopub"), bind(zmq.REP, "hb")
poller = zmq.Poller()
for s in (shell, control, heartbeat):
    poller.register(s, zmq.POLLIN)


def send(sock, idents, kind, content, parent, buffers=()):
    header = {"msg_id": uuid.uuid4().hex, "session": session, "username": "toy", "msg_type": kind, "version": "5.3", "date": ""}
    parts = [json.dumps(x).encode() for x in (header, parent, {}, content)]
    sig = hmac.new(key, b"".join(parts), hashlib.sha256).hexdigest().encode()
    sock.send_multipart(list(idents) + [b"<IDS|MSG>", sig] + parts + list(buffers))


def recv(sock):
    parts = sock.recv_multipart()
    i = parts.index(b"<IDS|MSG>")
    want = hmac.new(key, b"".join(parts[i + 2:i + 6]), hashlib.sha256).hexdigest().encode()
    assert hmac.compare_digest(want, parts[i + 1]), "wrong signature"
    return parts[:i], json.loads(parts[i + 2]), json.loads(parts[i + 5]), parts[i + 6:]


def publish(kind, content, parent, buffers=()):
    send(iopub, [b"toy." + kind.encode()], kind, content, parent, buffers)


def serve_control():
    idents, header, content, _ = recv(control)
    if header["msg_type"] == "interrupt_request":
        interrupted.append(1)
        send(control, idents, "interrupt_reply", {"status": "ok"}, header)
    if header["msg_type"] == "shutdown_request" and "TOY_STAYS" not in os.environ:
        send(control, idents, "shutdown_reply", {"status": "ok", "restart": False}, header)
        time.sleep(0.01)
        os._exit(0)


def sleep(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if interrupted:
            raise KeyboardInterrupt
        if control.poll(20):
            serve_control()


def command(line, idents, header):
    word, _, rest = line.partition(" ")
    if word == "echo":
        publish("stream", {"name": "stdout", "text": rest + "\n"}, header)
    elif word == "count":
        for i in range(int(rest)):
            publish("stream", {"name": "stdout", "text": "%d\n" % i}, header)
    elif word == "tick":
        for i in range(int(rest)):
            publish("stream", {"name": "stdout", "text": "%d\n" % i}, header)
            sleep(0.005)
    elif word == "sleep":
        sleep(float(rest))
    elif word == "exit":
        os._exit(int(rest))
    elif word == "fail":
        raise ValueError(rest)
    elif word == "ask":
        send(stdin, idents, "input_request", {"prompt": rest, "password": False}, header)
        while not stdin.poll(20):
            if interrupted:
                raise KeyboardInterrupt
        publish("stream", {"name": "stdout", "text": recv(stdin)[2]["value"]}, header)
    elif word == "spawn":
        p = subprocess.Popen(["sleep", "600"])
        publish("stream", {"name": "stdout", "text": str(p.pid)}, header)
    elif word == "buffers":
        publish("comm_msg", {"comm_id": "c", "data": {}}, header, [b"one", b"\x00\xff" * 3])
    elif word == "env":
        publish("stream", {"name": "stdout", "text": os.environ.get(rest, "")}, header)
    elif word == "where":
        publish("stream", {"name": "stdout", "text": info["transport"] + " " + os.getcwd()}, header)


def execute(idents, header, content):
    global count
    code = content["code"]
    publish("status", {"execution_state": "busy"}, header)
    if code.startswith("abort") and header["msg_id"] not in refused:
        refused.add(header["msg_id"])
        send(shell, idents, "execute_reply", {"status": "aborted"}, header)
        publish("status", {"execution_state": "idle"}, header)
        return
    count += 1
    interrupted.clear()
    publish("execute_input", {"code": code, "execution_count": count}, header)
    reply = {"status": "ok", "execution_count": count, "payload": [], "user_expressions": {}}
    try:
        for line in code.splitlines():
            command(line, idents, header)
    except (KeyboardInterrupt, ValueError) as e:
        error = {"ename": type(e).__name__, "evalue": str(e), "traceback": []}
        publish("error", error, header)
        reply = dict(error, status="error", execution_count=count)
    send(shell, idents, "execute_reply", reply, header)
    if not code.startswith("noidle"):
        publish("status", {"execution_state": "idle"}, header)


while True:
    ready = dict(poller.poll())
    if heartbeat in ready:
        heartbeat.send(heartbeat.recv())
    if control in ready:
        serve_control()
    if shell in ready:
        idents, header, content, buffers = recv(shell)
        kind = header["msg_type"]
        if kind == "execute_request":
            execute(idents, header, content)
        elif kind == "kernel_info_request":
            publish("status", {"execution_state": "busy"}, header)
            send(shell, idents, "kernel_info_reply", {"status": "ok", "implementation": "toy", "protocol_version": "5.3", "language_info": {"name": "toy"}}, header)
            publish("status", {"execution_state": "idle"}, header)
        elif kind.startswith("comm_"):
            publish(kind, content, header, buffers)
        else:
            send(shell, idents, kind.replace("request", "reply"), {"status": "ok", "you_sent": content}, header)
