package core

import (
	"fmt"
	"slices"

	"runt/internal/proxy/rpcline"
)

// maxSubscriptions bounds what is kept for the next child.
const maxSubscriptions = 100

// learnSubscription keeps in mind which resources the client subscribed to, so
// that a later child can be asked for the same. m is the answer to the call.
func (c *Core) learnSubscription(call *call, m rpcline.Message) {
	subscribe := call.method == "resources/subscribe"
	if m.Result == nil || !subscribe && call.method != "resources/unsubscribe" {
		return
	}
	asked, err := rpcline.Parse(call.line)
	if err != nil {
		return
	}
	uri, ok := rpcline.GetString(asked.Params, "uri")
	if !ok {
		return
	}
	c.client.subscribed = slices.DeleteFunc(c.client.subscribed, func(s string) bool { return s == uri })
	if subscribe && len(c.client.subscribed) < maxSubscriptions {
		c.client.subscribed = append(c.client.subscribed, uri)
	}
}

// passSubscriptions asks a child for what the client subscribed to at an earlier one.
func (c *Core) passSubscriptions() {
	for i, uri := range c.client.subscribed {
		c.toChild(ownRequest(c.ownID(fmt.Sprint("subscribe-", i)), "resources/subscribe", mustMarshal(map[string]string{"uri": uri})))
	}
}
