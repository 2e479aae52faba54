package blob

import (
	"crypto/subtle"
	"errors"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// Paths that Handler serves.
const (
	PathPrefix = "/blob/"  // and the hash
	PathHealth = "/health" // needs no token
)

// Handler serves the blobs of the store to whoever knows the token, which is
// given as ?token= or as a bearer token. Requests must name a host of this
// machine, or one of hosts, so that a page elsewhere cannot reach the store
// through a name that leads here. Without a token nothing is served.
func (s *Store) Handler(token string, hosts ...string) http.Handler {
	return &handler{store: s, token: token, hosts: hosts}
}

type handler struct {
	store *Store
	token string
	hosts []string
}

// ServeHTTP answers GET and HEAD.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer") // the token may be in the URL
	switch {
	case !h.knownHost(r.Host):
		http.Error(w, "This server answers only to names of this machine.", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "Only GET and HEAD are served here.", http.StatusMethodNotAllowed)
	case r.URL.Path == PathHealth:
		head.Set("Cache-Control", "no-store")
		head.Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // the peer is gone if this fails
	case !strings.HasPrefix(r.URL.Path, PathPrefix):
		http.NotFound(w, r)
	case !h.authorized(r):
		http.Error(w, "The token is missing or wrong.", http.StatusForbidden)
	default:
		h.serveBlob(w, r, strings.TrimPrefix(r.URL.Path, PathPrefix))
	}
}

func (h *handler) serveBlob(w http.ResponseWriter, r *http.Request, hash string) {
	f, meta, err := h.store.Open(hash)
	switch {
	case errors.Is(err, ErrBadHash), errors.Is(err, ErrNotFound):
		http.NotFound(w, r)
		return
	case err != nil:
		http.Error(w, "The blob cannot be read.", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	head := w.Header()
	head.Set("Content-Type", contentType(meta.MediaType))
	head.Set("Cache-Control", "private, max-age=31536000, immutable")
	head.Set("ETag", `"`+hash+`"`)
	// What a kernel made must not run as part of our page: no scripts, no
	// origin. The token, not the origin, decides who may read.
	head.Set("Content-Security-Policy", "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'")
	head.Set("Access-Control-Allow-Origin", "*")
	head.Set("Cross-Origin-Resource-Policy", "cross-origin")
	http.ServeContent(w, r, "", time.Time{}, f)
}

func (h *handler) authorized(r *http.Request) bool {
	given := r.URL.Query().Get("token")
	if b, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		given = b
	}
	return h.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(h.token)) == 1
}

func (h *handler) knownHost(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	for _, ok := range h.hosts {
		if strings.EqualFold(name, ok) {
			return true
		}
	}
	return false
}

// contentType returns the media type for the header. Text is UTF-8 unless it says otherwise.
func contentType(m string) string {
	t, params, err := mime.ParseMediaType(m)
	if err != nil {
		return DefaultMediaType
	}
	if strings.HasPrefix(t, "text/") && params["charset"] == "" {
		params["charset"] = "utf-8"
	}
	if full := mime.FormatMediaType(t, params); full != "" {
		return full
	}
	return DefaultMediaType
}
