// Package peer connects the session layer to the daemon: it implements
// session.Dialer by package client, and turns what client.Watch tells into the
// events of the session layer. It keeps no connection of its own and starts no
// goroutine but the one of Events, which ends with its context.
package peer
