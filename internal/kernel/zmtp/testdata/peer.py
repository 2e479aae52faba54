"""The other end for the tests: libzmq sockets that send back what they get.

Usage: peer.py KIND ENDPOINT. Prints the endpoint once it is bound.
"""
import sys
import zmq

kind, endpoint = sys.argv[1:]
s = zmq.Context().socket(getattr(zmq, kind))
s.linger = 0
s.bind(endpoint)
print(s.getsockopt_string(zmq.LAST_ENDPOINT), flush=True)
if kind == "XPUB":
    assert s.recv() == b"\x01topic", "subscription"
    for i in range(1000):
        s.send_multipart([b"other", b"unwanted"])
        s.send_multipart([b"topic", b"%d" % i, b"x" * i])
    s.recv()  # never comes
while True:
    s.send_multipart(s.recv_multipart())
