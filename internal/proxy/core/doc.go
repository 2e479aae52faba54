// Package core decides everything the proxy does. It is pure: Handle takes the
// time and an event and returns effects; ids and randomness are inputs. The one
// Core struct holds the calls in flight, the child, the notebooks the client
// holds and the breaker, and nothing else changes them. It is not safe for
// concurrent use: one goroutine owns it.
//
// The child's states:
//
//	          initialize                 ChildStarted            answer to our initialize
//	Absent ──────────────▶ Starting ───────────────▶ Handshake ──────────────────────────▶ Ready
//	                        ▲  ▲  │ ChildFailed          │ exit, or no answer in time       │ │
//	   pause over,          │  │  ▼                      ▼                                  │ │
//	   program replaced,    │  └─ Pausing ◀───────── (crash) ◀───────── exit, any other ─────┘ │
//	   reconnect            │      fifth crash in 30 s │                                       │
//	                        │                          ▼                                       │
//	                        ├────── cooldown over ── Broken                                    │
//	                        ├────── exit 75: at once, uncounted ◀──────────────────────────────┤
//	                        └────── exited ─── Ending ◀─ reconnect; program replaced and idle;─┘
//	                                             │         new initialize
//	                                             └─ exited, and the client is gone ─▶ Finished
//
// The client's end of input leads from every state to Finished: a child that has
// the calls answers them before it heeds the end of its own input, within a
// bound; what is unanswered then is answered here; then Exit. Stop, and a client
// that cannot be written to, do not wait for answers.
//
// A call is a client's request that is not answered yet:
//
//	waiting ── child open ──▶ sent to child n ── its answer ──▶ forwarded, forgotten
//	   ▲                          │ │
//	   └──── child n is gone ─────┘ └─ cancelled, and child n is gone or silent ─▶ answered here
//	   └─ no child in time, breaker open, client gone ─▶ answered here
//
// So every request gets one answer: what leaves the table has been answered, and
// an answer to what is not in the table goes nowhere. A call goes to one child
// at most once, and to a later child in the same bytes and under the same id, by
// which the child derives the ids of the cells and executions it makes: what ran
// already is found, not run again. A child reads its first calls while it
// rejoins the notebooks it was handed; it lets them wait for that by itself.
//
// An answered call proves a child healthy: it forgives earlier crashes. An answer
// that reports a tool's error proves as much as any other.
package core
