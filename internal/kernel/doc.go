// Package kernel is how the daemon runs kernels: it starts a kernel host (a
// process of its own for every kernel, see package host), talks to it, finds it
// again after a restart of the daemon, and ends it.
//
//	h, err := kernel.StartHost(ctx, kernel.HostConfig{Dir: dir, Command: []string{runtimed, "kernel-host"}, RoomID: id}, spec)
//	err = h.Execute(kernel.Execute{ID: id, Code: "1+1", StoreHistory: true})
//	for e := range h.Events() { ... ; h.Ack(e.Seq) }
//
// # Events
//
// Everything that happens arrives on Events, numbered without gaps, in order.
// Ready comes once; Accepted, Message, InputRequest, Interrupt and Done carry
// the id of their execution; Done comes after everything that the execution put
// out before the kernel went idle. Died, Failed or Lost is the last event, and
// then the channel is closed. No Done is sent for the executions that were running or
// waiting at that moment. The channel is also closed, without a last event, after Close.
//
// Ack(n) says that events up to n are safe with the daemon. Whatever is not acknowledged is
// sent again to whoever calls Adopt with a smaller number.
//
// # Blocking
//
// Execute, Cancel, Interrupt, Input, Comm and Ack never wait for the host or
// the kernel: an order is queued, and sent again after a lost connection. What
// comes of it is an event. Request and Shutdown wait, until their context is done. A slow
// receiver of Events holds up nobody; its events wait in memory.
//
// # Ownership and shutdown
//
// A Host owns its connection and three goroutines; Close ends them and waits.
// The host process does not belong to it: Close leaves it running, Shutdown ends it. The
// folder belongs to the daemon, which removes it when it wants nothing of it any more.
package kernel
