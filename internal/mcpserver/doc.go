// Package mcpserver offers live notebooks to MCP clients: it serves the tools
// of package toolspec over stdio, and runs the same tools for the shell.
//
// A Server is one process and can hold many clients; a Client is one of them,
// with notebooks, a default notebook and a name of its own. Each tool is one
// file, tool_*.go, whose handler fetches, computes and returns a reply.
//
// # Order
//
// The calls of a client begin in the order in which they came: which notebook a
// call is about, and its turn on that notebook, are settled one call after the
// other. Edits and the queueing of executions happen in turn; reads come after the
// edits before them. Everything that takes time happens after a call has given
// its turn back, so a long execution holds up nobody.
//
// # Blocking and ownership
//
// Every call is bounded by its timeout and by the client's cancellation. A call
// whose connection to the daemon breaks waits until the notebook is joined
// again and goes on: edits are made again if the daemon has not got them, and an
// execution is asked for again under its old id, which runs it once. No goroutine is
// started for a call but those of the MCP library. [Run] waits for all of them.
package mcpserver
