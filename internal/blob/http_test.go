package blob

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const token = "secret"

func serve(h http.Handler, method, target, host string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://placeholder"+target, nil)
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandlerServesBlobs(t *testing.T) {
	s := open(t)
	png := put(t, s, "\x89PNG not really", "image/png")
	html := put(t, s, "<script>alert(1)</script>", "text/html")
	odd := put(t, s, "odd", "text/x; charset=\"latin1\"")
	h := s.Handler(token)
	for _, c := range []struct {
		ref               Ref
		contentType, body string
	}{
		{png, "image/png", "\x89PNG not really"},
		{html, "text/html; charset=utf-8", "<script>alert(1)</script>"},
		{odd, "text/x; charset=latin1", "odd"},
	} {
		w := serve(h, "GET", "/blob/"+c.ref.Hash+"?token="+token, "127.0.0.1:4000")
		if w.Code != 200 || w.Body.String() != c.body || w.Header().Get("Content-Type") != c.contentType {
			t.Errorf("%d %q %q", w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options":  "nosniff",
			"Cache-Control":           "immutable",
			"Content-Security-Policy": "sandbox; default-src 'none'",
			"Referrer-Policy":         "no-referrer",
			"ETag":                    c.ref.Hash,
		} {
			if got := w.Header().Get(name); !strings.Contains(got, want) {
				t.Errorf("%s is %q, want %q in it", name, got, want)
			}
		}
	}
	w := serve(h, "HEAD", "/blob/"+png.Hash, "localhost", "Authorization", "Bearer "+token)
	if w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "15" {
		t.Errorf("HEAD: %d, %d bytes, length %s", w.Code, w.Body.Len(), w.Header().Get("Content-Length"))
	}
	if w := serve(h, "GET", "/blob/"+html.Hash+"?token="+token, "[::1]:80", "Range", "bytes=0-7"); w.Code != 206 || w.Body.String() != "<script>" {
		t.Errorf("range: %d %q", w.Code, w.Body)
	}
	if w := serve(h, "GET", "/blob/"+png.Hash+"?token="+token, "localhost", "If-None-Match", `"`+png.Hash+`"`); w.Code != 304 {
		t.Errorf("not modified: %d", w.Code)
	}
	if w := serve(h, "GET", PathHealth, "localhost:1"); w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("health: %d %q", w.Code, w.Body)
	}
}

func TestHandlerRefuses(t *testing.T) {
	s := open(t)
	ref := put(t, s, "data", "text/plain")
	blob := "/blob/" + ref.Hash
	good := blob + "?token=" + token
	for _, c := range []struct {
		name, method, target, host string
		code                       int
	}{
		{"no token", "GET", blob, "localhost", 403},
		{"empty token", "GET", blob + "?token=", "localhost", 403},
		{"wrong token", "GET", blob + "?token=secreu", "localhost", 403},
		{"foreign host", "GET", good, "evil.example", 403},
		{"foreign host with our address in it", "GET", good, "127.0.0.1.evil.example", 403},
		{"host that begins like ours", "GET", good, "localhost.evil.example:80", 403},
		{"another address", "GET", good, "192.168.1.2:80", 403},
		{"no host", "GET", good, "", 403},
		{"health on a foreign host", "GET", "/health", "evil.example", 403},
		{"POST", "POST", good, "localhost", 405},
		{"PUT", "PUT", good, "localhost", 405},
		{"DELETE", "DELETE", good, "localhost", 405},
		{"OPTIONS", "OPTIONS", good, "localhost", 405},
		{"not there", "GET", "/blob/" + Hash(nil) + "?token=" + token, "localhost", 404},
		{"upper case", "GET", "/blob/" + strings.ToUpper(ref.Hash) + "?token=" + token, "localhost", 404},
		{"climbing", "GET", "/blob/../../etc/passwd?token=" + token, "localhost", 404},
		{"climbing, escaped", "GET", "/blob/%2e%2e%2f%2e%2e%2fetc%2fpasswd?token=" + token, "localhost", 404},
		{"meta data", "GET", blob + ".meta?token=" + token, "localhost", 404},
		{"the folder", "GET", "/blob/?token=" + token, "localhost", 404},
		{"elsewhere", "GET", "/?token=" + token, "localhost", 404},
	} {
		w := serve(s.Handler(token), c.method, c.target, c.host)
		if w.Code != c.code || strings.Contains(w.Body.String(), "data") {
			t.Errorf("%s: %d %q, want %d", c.name, w.Code, w.Body, c.code)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: may be sniffed", c.name)
		}
	}
	if w := serve(s.Handler(""), "GET", blob+"?token=", "localhost"); w.Code != 403 {
		t.Errorf("a handler without a token answers %d", w.Code)
	}
	if w := serve(s.Handler(token, "box.lan"), "GET", good, "BOX.lan:80"); w.Code != 200 {
		t.Errorf("a host that was allowed: %d", w.Code)
	}
}

func FuzzHandler(f *testing.F) {
	for _, s := range []string{"/blob/", "/blob/..%2f..", "/health", "/blob/" + Hash(nil), "//blob//x", "/blob/\x00"} {
		f.Add(s, "localhost")
	}
	f.Add("/blob/a", "[::1]:x")
	s, err := Open(f.TempDir(), Options{})
	if err != nil {
		f.Fatal(err)
	}
	h := s.Handler(token)
	f.Fuzz(func(t *testing.T, path, host string) {
		r := httptest.NewRequest("GET", "/?token="+token, nil)
		r.URL.Path, r.Host = path, host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == 200 && path != PathHealth {
			t.Errorf("%q on %q was served", path, host)
		}
	})
}
