package present

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHTMLText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"plain":                                  "plain",
		"a &lt; b &amp;&#33; &nosuch;":           "a < b &! &nosuch;",
		"<p>one</p><p>two</p>":                   "one\ntwo",
		"a<br>b<br/>c":                           "a\nb\nc",
		"<script>if (a < b) {}</script>shown":    "shown",
		"<STYLE>p{}</sTyLe >shown":               "shown",
		"<script>never closed":                   "",
		"<!-- hidden --><!DOCTYPE html>shown":    "shown",
		"<!-- never closed":                      "",
		"1 < 2 and 3<4":                          "1 < 2 and 3<4",
		"<ul><li>a</li><li>b</li></ul>":          "- a\n- b",
		"<img alt='a plot' src=x>":               "[image: a plot]",
		"<img src='a>b' alt=\"x &gt; y\">":       "[image: x > y]",
		"<b>bo</b>ld  \n text":                   "bold text",
		"<table><tr><td>a<td>b<tr><td>c</table>": "a | b\nc",
		"<a href='never closed":                  "",
		"<":                                      "<",
		"</":                                     "</",
		"<svg/>after":                            "after",
	} {
		if got := HTMLText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTables(t *testing.T) {
	wide := "<table class='x dataframe'><thead><tr><th></th>" + strings.Repeat("<th>c</th>", 30) + "</tr></thead><tbody><tr><th>0</th>" + strings.Repeat("<td>1</td>", 30) + "</tr></tbody></table>"
	for _, c := range []struct{ name, in, want string }{
		{"head without thead", "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>", "Table, 1 rows × 2 columns\nk | v\na | 1"},
		{"end tags left out", "<table><tr><td>a<td>b<tr><td>c<td>d</table>", "Table, 2 rows × 2 columns\na | b\nc | d"},
		{"spans", "<table><tr><td rowspan=2>a</td><td colspan=2>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "Table, 2 rows × 3 columns\na | b |\n | c | d"},
		{"table in a cell", "<table><tr><td>a<table><tr><td>in</td></tr></table></td><td>b</td></tr></table>", "Table, 1 rows × 2 columns\na in | b"},
		{"absurd spans", "<table><tr><td colspan=99999999 rowspan=-5>a</td></tr></table>", ""},
		{"shape of pandas", "<table class='dataframe'><thead><tr><th></th><th>a</th></tr></thead><tr><th>0</th><td>x</td></tr></table><p>12,345 rows × 6 columns</p>", "DataFrame, 12,345 rows × 6 columns\n | a\n0 | x"},
		{"shape of polars", "<small>shape: (1_000, 2)</small><table class='dataframe'><thead><tr><th>a</th></tr><tr><td>i64</td></tr></thead><tr><td>1</td></tr></table>", "DataFrame, 1,000 rows × 2 columns\na\ni64\n1"},
		{"long cell", "<table><tr><td>" + strings.Repeat("x", 100) + "</td></tr></table>", "Table, 1 rows × 1 columns\n" + strings.Repeat("x", 39) + "…"},
		{"many columns", wide, "DataFrame, 1 rows × 30 columns\n" + strings.Repeat(" | c", 13) + " | [17 more]\n0" + strings.Repeat(" | 1", 13) + " | …\nAll columns: c" + strings.Repeat(", c", 29)},
	} {
		table, ok := parseTable(c.in)
		if !ok {
			t.Errorf("%s: no table", c.name)
		}
		if got := table.String(); c.want != "" && got != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", c.name, got, c.want)
		}
		if table.width() > maxSpan {
			t.Errorf("%s: %d columns", c.name, table.width())
		}
	}
	rows := "<table>" + strings.Repeat("<tr><td>1</td></tr>", 2*maxTableRows)
	table, ok := parseTable(rows)
	if !ok || len(table.rows) > maxTableRows || strings.Count(table.String(), "\n") != tableRows+1 {
		t.Errorf("many rows: %d read, shown\n%s", len(table.rows), table)
	}
	if _, ok := parseTable("<p>none</p><tr><td>x</td></tr>"); ok {
		t.Error("found a table where there is none")
	}
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{"<table><tr><td rowspan=3>a<th colspan=2>", "<!--", "<a b='c", "</td></tr></table><table>", "<script></scripty></script>", "&#x110000;&#0;", "<td><table class=dataframe><thead>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := HTMLText(s)
		if !utf8.ValidString(text) && utf8.ValidString(s) {
			t.Errorf("%q: %q", s, text)
		}
		if table, ok := parseTable(s); ok {
			if n := len(table.String()); n > (tableRows+200)*(tableColumns+2)*4*tableCell+8000 && len(table.header) < 100 {
				t.Errorf("%d bytes of table from %d", n, len(s))
			}
		}
		htmlTokens(s, func(tok htmlToken) bool {
			tok.attr("class")
			return true
		})
	})
}
