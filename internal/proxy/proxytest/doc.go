// Package proxytest is a fake agent: an MCP client over stdio for tests of the
// proxy and of whole programs.
//
// An Agent starts a command (or is attached to streams), sends requests and
// collects everything that comes back. It fails the test when a line of the
// server is no JSON-RPC message, when a request is answered twice, or when an
// answer does not come in time. Requests may be sent from several goroutines.
// FakeChild is the other side: the test binary itself, called again through a
// script, plays a notebook server that does what the tools called tell it, from
// counting to dying. A test package that uses it calls PlayChild in TestMain.
//
// A reading goroutine, and for a command one that waits for its end, live until
// the server closes its output; Start and Attach register a cleanup that closes
// the server's input, waits, and kills what is left.
package proxytest
