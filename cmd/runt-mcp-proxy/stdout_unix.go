//go:build unix && !linux

package main

import "golang.org/x/sys/unix"

// dupOnto makes to another name of what from names.
func dupOnto(from, to int) error { return unix.Dup2(from, to) }
