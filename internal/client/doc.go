// Package client is a peer of the notebook daemon: it opens notebooks, keeps
// replicas of their documents, sends requests, and tells when the daemon comes
// and goes. It works with runt's daemon and, without its additions, with any
// that speaks protocol v4.
//
//	h, err := client.Join(ctx, client.Options{Socket: path, Engine: engine, Operator: "agent:x"}, id)
//	...
//	_, err = h.Edit(ctx, func(tx *notebook.Tx) error { return tx.SetSource(cell, "1+1") })
//	run, err := h.Execute(ctx, cell, "", client.ExecuteOptions{})
//	err = run.Wait(ctx)
//
// # Handles
//
// A Handle is one connection to one notebook. It may be used by any number of
// goroutines.
//   - Order: edits reach the daemon in the order in which they were applied
//     here, and a request is sent after the edits that came before it. Answers
//     to requests may come in any order.
//   - Blocking: Edit, SetFocus and reads of the documents never wait for the
//     network. Request, Confirm, Execute and WaitFor wait until answered, their
//     context ends, or the connection is lost; each has a longest time besides.
//     No lock is held meanwhile.
//   - Ownership: a handle owns its socket, its documents, one goroutine that
//     reads and one that sends heartbeats. Close ends them and waits for them.
//   - Loss: when the connection breaks, Done is closed, all who wait get a
//     session_disconnected error, and the documents stay readable until Close.
//     A handle never reconnects; open a new one and pass the old as
//     Options.Carry, so that edits which the daemon may not have got are not lost.
//
// # Waiting
//
// Changed returns a channel that is closed at the next change of anything a
// handle shows: documents, presence, phases of loading. WaitFor builds on it.
// Nothing here polls.
//
// # Watcher
//
// Watch keeps one connection on the pool channel, which makes no peer of any
// notebook, and tells of every change of the daemon's presence. Its goroutine
// ends with its context, after which the channel is closed.
package client
