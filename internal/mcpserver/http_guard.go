package mcpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"runt/internal/domain"
)

// ListenHTTP listens on an address for RunHTTP. One that is reached from all
// interfaces of the machine is refused unless that is asked for.
func ListenHTTP(addr string, everywhere bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return nil, invalidf("The address %q is no host and port.", addr).WithHint("Write 127.0.0.1:8765, or 127.0.0.1:0 for any free port.")
	}
	if ip, err := netip.ParseAddr(host); (host == "" || err == nil && ip.IsUnspecified()) && !everywhere {
		return nil, invalidf("The address %q would be reached from every network that this machine is in.", addr).
			WithHint("Write 127.0.0.1:%s for this machine alone, or add --http-any if that is what you want.", port)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "Cannot listen on %s: %w", addr, err).
			WithHint("Stop what uses it, or write another port; 127.0.0.1:0 takes any that is free.")
	}
	return ln, nil
}

// guard lets requests pass that bring the token and were meant for this server.
//
// A web page can make a browser send requests here, by a form or under a name of
// its own that it lets point to this machine. So the Host must be an address or a
// known name, and so must the Origin, which browsers send and pages cannot change.
type guard struct {
	token [sha256.Size]byte
	hosts []string // names that are known
	next  http.Handler
}

func newGuard(token string, hosts []string, next http.Handler) *guard {
	g := &guard{token: sha256.Sum256([]byte(token)), hosts: []string{"localhost"}, next: next}
	for _, h := range hosts {
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	return g
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case !g.knows(r.Host):
		refuse(rw, http.StatusForbidden, "the Host is not known here; use an address, localhost, or a name given with --http-host")
	case !g.mayAsk(r.Header.Values("Origin")):
		refuse(rw, http.StatusForbidden, "pages of that Origin may not use this server")
	case !g.trusts(r.Header.Get("Authorization")):
		rw.Header().Set("WWW-Authenticate", `Bearer realm="runt"`)
		refuse(rw, http.StatusUnauthorized, "the request needs the header Authorization: Bearer TOKEN; runt mcp said at its start where the token is")
	default:
		g.next.ServeHTTP(rw, r)
	}
}

// knows says whether a Host, with or without port, cannot have been chosen by a page.
func (g *guard) knows(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.Contains(g.hosts, strings.TrimSuffix(host, "."))
}

// mayAsk says whether a request comes from no page, or from one of a known host.
func (g *guard) mayAsk(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !g.isOurs(u.Hostname()) {
			return false
		}
	}
	return true
}

// isOurs says whether pages of a host are as trusted as this machine.
func (g *guard) isOurs(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return slices.Contains(g.hosts, strings.ToLower(host))
}

func (g *guard) trusts(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(got[:], g.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}
