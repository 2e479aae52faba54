//go:build !linux

package host

import "net"

// peerUID is not known here; the mode of the socket and of its folder keeps others out.
func peerUID(net.Conn) (int, bool) { return 0, false }
