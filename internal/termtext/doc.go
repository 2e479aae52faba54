// Package termtext turns what a program printed into the text a terminal would
// show: carriage returns, backspaces, erasures and cursor moves (progress bars,
// also nested ones) are applied, colours are kept. It is pure; a Screen belongs
// to one goroutine.
package termtext
