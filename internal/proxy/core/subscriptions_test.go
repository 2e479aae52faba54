package core

import "testing"

func TestSubscriptionsArePassedToTheNextChild(t *testing.T) {
	r := newRig(t).up()
	ask := func(id, method, uri string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"resources/` + method + `","params":{"uri":"` + uri + `"}}`
	}
	r.client(ask("1", "subscribe", "a"), ask("2", "subscribe", "b"), ask("3", "subscribe", "c"), ask("4", "subscribe", "refused"), ask("5", "unsubscribe", "b"), ask("6", "subscribe", "a"))
	r.child(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`,
		`{"jsonrpc":"2.0","id":4,"error":{"code":-32002,"message":"no"}}`, `{"jsonrpc":"2.0","id":5,"result":{}}`, `{"jsonrpc":"2.0","id":6,"result":{}}`)
	r.forget()
	r.dies(exit75)
	r.started("2.0")
	pass := func(n, uri string) string {
		return `2 {"jsonrpc":"2.0","id":"runt-proxy:session-1:subscribe-` + n + `","method":"resources/subscribe","params":{"uri":"` + uri + `"}}`
	}
	r.wantChild("2 …", "2 "+ready, pass("0", "c"), pass("1", "a"))
	r.forget()
	r.child(`{"jsonrpc":"2.0","id":"runt-proxy:session-1:subscribe-0","result":{}}`)
	r.wantClient()
}
