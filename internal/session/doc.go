// Package session keeps the notebooks that one MCP client holds, and keeps them
// working: it joins them, notices when the connection to the daemon is lost,
// joins them again, and says what happened when that cannot be.
//
// # Decide and apply
//
// [Classify] is the whole policy of the watch loop: a pure function from an event
// of the connection and four facts about the client to a decision. [Client.Apply]
// carries the decision out, with guards: whatever a user's call has done in
// the meantime wins over what the loop had decided.
//
//	            Connect, Create                  handle gone
//	(nothing) ------------------> live slot --------------------> lost slot
//	    ^                         |    ^                           |    |
//	    |  Disconnect, limit      |    |  rejoin succeeds          |    |
//	    +-------------------------+    +---------------------------+    |
//	    |     Disconnect; the daemon says the notebook is gone          |
//	    +---------------------------------------------------------------+
//
// A client has at most one default notebook. A slot is a notebook the client
// holds; its keeper (one goroutine, only while the slot is lost) dials until it
// succeeds or the slot goes away.
//
// # Ordering
//
// [Client.Resolve] never blocks and decides which notebook a call is about, at
// the moment it is called. Calls on one notebook get their turn in the order of
// Resolve; a call gives its turn back ([Ref.Release]) before it waits for an execution.
// A connect that a later connect to another notebook overtakes fails with
// session_superseded, and so do the calls that were waiting for it.
//
// # Blocking and ownership
//
// No lock is held while dialing, closing, waiting or calling out. The check
// whether a freshly dialed handle is still wanted and its installation happen under
// one lock; a handle that is not wanted is closed at once. Every wait has a deadline
// ([Options.Wait], or the caller's context). Goroutines (keepers, activations, the
// watch of each handle) belong to the Client; [Client.Close] ends and awaits them and closes all handles.
package session
