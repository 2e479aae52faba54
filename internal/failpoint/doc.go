// Package failpoint lets tests make a named place of the program fail, wait or
// crash. Production code calls [Inject] at such a place:
//
//	if err := failpoint.Inject("journal/before-sync"); err != nil {
//		return err
//	}
//
// A test sets what happens there with [Set], in terms like
//
//	2*off->1*error(disk full)->off
//
// which are used up from left to right: each has an optional count and an action,
// the last one without a count holds for ever, and when all are used up nothing
// happens any more. Actions: off, error(text), panic(text), delay(duration), pause (until the test
// calls [Clear] or [Set] again), exit(code) and kill (SIGKILL to the own
// process, as a crash would).
//
// A real process reads the variable RUNT_FAILPOINTS when it starts:
// name=terms;name=terms. Names are "package/place".
//
// # Concurrency
//
// Everything may be called from any goroutine. Without failpoints Inject costs
// one atomic load. Inject blocks only for delay and pause. No lock is held
// while an action is carried out.
package failpoint
