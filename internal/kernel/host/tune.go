package host

import (
	"encoding/json"

	"runt/internal/kernel/link"
)

// widenIOPub is code for ipykernel. A publisher drops messages when a thousand
// wait for a reader that the machine does not let run; a kernel that prints fast
// gets there in a fifth of a second. The limit may be changed on a live socket,
// but only by the thread that owns it. The code leaves no name behind and cannot fail.
const widenIOPub = `try:
    (lambda t: t.schedule(lambda: t.socket.setsockopt(__import__("zmq").SNDHWM, 1000000)))(get_ipython().kernel.iopub_thread)
except Exception:
    pass
`

// tune makes a kernel keep its outputs for a host that is slow for a moment. It
// is sent before any execution and nobody waits for it.
func (c *core) tune(info *link.Message) {
	var k struct {
		Implementation string `json:"implementation"`
	}
	if json.Unmarshal(info.Content, &k) != nil || k.Implementation != "ipython" {
		return
	}
	c.ipython = true
	c.own(chShell, "execute_request", map[string]any{
		"code": widenIOPub, "silent": true, "store_history": false,
		"user_expressions": struct{}{}, "allow_stdin": false, "stop_on_error": false,
	})
}
