// Package mailbox is a queue without a bound between goroutines: who puts
// never waits, who takes gets everything that is there at once, in order.
//
// Use it only where the putting side must not wait for anything and the taking
// side is sure to keep up or to have a bound of its own. Put and Close may be
// called by anyone; one goroutine takes. The package starts no goroutine.
package mailbox
