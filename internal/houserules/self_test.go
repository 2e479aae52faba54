package houserules

import "testing"

// TestPatternsFindWhatTheyForbid keeps the rules from passing because they find nothing.
func TestPatternsFindWhatTheyForbid(t *testing.T) {
	for _, bad := range []string{"x := /" + "root/a", "see /home/" + "me/x", "https://registry." + "npmjs.org/x", "cd /wo" + "rk/main"} {
		found := false
		for _, re := range forbidden {
			found = found || re.MatchString(bad)
		}
		if !found {
			t.Errorf("%q is not found", bad)
		}
	}
	for _, good := range []string{"/home/", "the network/work/day", "/usr/bin/root", "https://example.org"} {
		for what, re := range forbidden {
			if re.MatchString(good) {
				t.Errorf("%q is taken for %s", good, what)
			}
		}
	}
	for text, want := range map[string]bool{
		"// x := f(1)": true, "// return f(x)": true, "// if err != nil {": true, "//}": true, "// close(done)": true,
		"// it returns when done (see above).": false, "// the lock is held": false, "// Reads return at once.": false,
	} {
		if codeLike.MatchString(text) != want {
			t.Errorf("codeLike(%q) = %v", text, !want)
		}
	}
}
