//go:build !linux

package daemon

import "net"

// checkPeer trusts the mode of the socket where peers cannot be asked who they are.
func checkPeer(net.Conn) error { return nil }
