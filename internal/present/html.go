package present

import (
	"html"
	"strings"
)

// htmlToken is a tag or the text between tags.
type htmlToken struct {
	tag   string // lower case, "" for text
	end   bool
	attrs string // as written
	text  string // unescaped
}

// rawTags have content that is not to be read, up to their end tag.
var rawTags = map[string]bool{
	"script": true, "style": true, "template": true, "noscript": true, "head": true, "title": true, "svg": true,
	"math": true, "iframe": true, "textarea": true, "select": true, "object": true,
}

// blockTags begin and end a line of text.
var blockTags = map[string]bool{
	"p": true, "div": true, "br": true, "tr": true, "li": true, "ul": true, "ol": true, "table": true, "pre": true, "hr": true,
	"h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "section": true, "article": true,
	"blockquote": true, "details": true, "summary": true, "dt": true, "dd": true, "caption": true, "thead": true, "tbody": true,
}

// htmlTokens calls yield for every tag and text of s, leaving out comments and
// what is not to be read. It understands what browsers do well enough to read
// what libraries write, and never fails.
func htmlTokens(s string, yield func(htmlToken) bool) {
	for s != "" {
		lt := strings.IndexByte(s, '<')
		if lt < 0 {
			yield(htmlToken{text: html.UnescapeString(s)})
			return
		}
		if lt > 0 && !yield(htmlToken{text: html.UnescapeString(s[:lt])}) {
			return
		}
		s = s[lt:]
		if rest, ok := strings.CutPrefix(s, "<!--"); ok {
			_, s, _ = strings.Cut(rest, "-->")
			continue
		}
		t, n := htmlTag(s)
		if n == 0 { // a "<" that begins no tag
			if !yield(htmlToken{text: "<"}) {
				return
			}
			s = s[1:]
			continue
		}
		s = s[n:]
		if t.tag == "" {
			continue // a declaration
		}
		if rawTags[t.tag] && !t.end && !strings.HasSuffix(t.attrs, "/") {
			s = afterEndTag(s, t.tag)
			continue
		}
		if !yield(t) {
			return
		}
	}
}

// htmlTag reads the tag that s begins with and returns its length, or 0.
func htmlTag(s string) (htmlToken, int) {
	i := 1
	t := htmlToken{}
	if i < len(s) && s[i] == '/' {
		t.end = true
		i++
	}
	if i >= len(s) || !letter(s[i]) && s[i] != '!' && s[i] != '?' {
		return t, 0
	}
	start := i
	for i < len(s) && (letter(s[i]) || s[i] >= '0' && s[i] <= '9' || s[i] == '-') {
		i++
	}
	t.tag = strings.ToLower(s[start:i])
	start = i
	for quote := byte(0); i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			t.attrs = strings.TrimSpace(s[start:i])
			return t, i + 1
		}
	}
	return t, len(s) // never closed: nothing after it is text
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// afterEndTag returns what follows the end tag of the given name.
func afterEndTag(s, tag string) string {
	for {
		i := strings.Index(s, "</")
		if i < 0 {
			return ""
		}
		s = s[i+2:]
		if len(s) >= len(tag) && strings.EqualFold(s[:len(tag)], tag) {
			_, s, _ = strings.Cut(s, ">")
			return s
		}
	}
}

// attr returns the value of an attribute, unescaped, or "".
func (t htmlToken) attr(name string) string {
	s := t.attrs
	for s != "" {
		s = strings.TrimLeft(s, " \t\r\n/")
		end := strings.IndexAny(s, "= \t\r\n/")
		if end < 0 {
			return ""
		}
		key := s[:end]
		s = strings.TrimLeft(s[end:], " \t\r\n")
		value := ""
		if strings.HasPrefix(s, "=") {
			s = strings.TrimLeft(s[1:], " \t\r\n")
			if s != "" && (s[0] == '"' || s[0] == '\'') {
				value, s, _ = strings.Cut(s[1:], s[:1])
			} else if value = s; strings.ContainsAny(s, " \t\r\n") {
				i := strings.IndexAny(s, " \t\r\n")
				value, s = s[:i], s[i:]
			} else {
				s = ""
			}
		}
		if strings.EqualFold(key, name) {
			return html.UnescapeString(value)
		}
	}
	return ""
}

// HTMLText returns the text that a browser would show of s: a line for every
// block, cells of a row with bars between them.
func HTMLText(s string) string {
	var lines []string
	var line strings.Builder
	flush := func() {
		if l := strings.Join(strings.Fields(line.String()), " "); l != "" {
			lines = append(lines, l)
		}
		line.Reset()
	}
	htmlTokens(s, func(t htmlToken) bool {
		switch {
		case t.tag == "":
			line.WriteString(t.text)
		case blockTags[t.tag]:
			flush()
			if t.tag == "li" && !t.end {
				line.WriteString("- ")
			}
		case (t.tag == "td" || t.tag == "th") && !t.end && line.Len() > 0:
			line.WriteString(" | ")
		case t.tag == "img" && t.attr("alt") != "":
			line.WriteString(" [image: " + t.attr("alt") + "] ")
		}
		return true
	})
	flush()
	return strings.Join(lines, "\n")
}
