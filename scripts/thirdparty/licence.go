package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceText reads the licence files of a folder.
func licenceText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var all []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		all = append(all, string(data))
	}
	if len(all) == 0 {
		return "", errors.New("there is no licence file")
	}
	return strings.Join(all, "\n"), nil
}

// kinds tell licences apart by words that only they have.
var kinds = []struct{ kind, words string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"BSD-3-Clause", "neither the name of"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms"},
	{"ISC", "permission to use, copy modify and/or distribute"},
	{"MIT", "permission is hereby granted free of charge"},
	{"Unlicense", "this is free and unencumbered software"},
}

// licenceKind names the licence, or several joined by AND.
func licenceKind(text string) string {
	flat := strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(text, ",", ""))), " ")
	var found []string
	for _, k := range kinds {
		if strings.Contains(flat, k.words) && (k.kind != "BSD-2-Clause" || !slices.Contains(found, "BSD-3-Clause")) {
			found = append(found, k.kind)
		}
	}
	if len(found) == 0 {
		return "see its sources"
	}
	return strings.Join(found, " AND ")
}

var copyrightLine = regexp.MustCompile(`(?im)^[\s#*/]*(copyright\s+(?:\(c\)|©|\d{4}|the ).*)$`)

// copyright returns the lines that say whose it is.
func copyright(text string) string {
	var lines []string
	for _, m := range copyrightLine.FindAllStringSubmatch(text, -1) {
		l := strings.TrimRight(strings.Join(strings.Fields(m[1]), " "), ". ")
		l = strings.TrimSuffix(strings.TrimSuffix(l, "All rights reserved"), " ")
		if !slices.Contains(lines, l) && !strings.Contains(l, "copyright owner") && len(lines) < 3 {
			lines = append(lines, strings.TrimRight(l, ". "))
		}
	}
	return strings.Join(lines, "; ")
}
