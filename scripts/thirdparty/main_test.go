package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runt/internal/testenv"
)

func TestFileListsWhatIsUsed(t *testing.T) {
	root := testenv.Root(t)
	for title, collect := range map[string]func(string) ([]component, error){"Go modules": goModules, "npm packages": npmPackages} {
		want, err := collect(root)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fromFile(root, title)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range want {
			if !slices.ContainsFunc(got, func(g component) bool { return g.name == c.name && g.version == c.version && g.licence == c.licence }) {
				t.Errorf("%s: %s %s (%s) is used and not listed: run make third-party", title, c.name, c.version, c.licence)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d are listed and %d used: run make third-party", title, len(got), len(want))
		}
	}
}

func TestCratesAreThoseOfTheLockFile(t *testing.T) {
	root := testenv.Root(t)
	lock, err := os.ReadFile(filepath.Join(root, "automerge-shim", "Cargo.lock"))
	if err != nil {
		t.Fatal(err)
	}
	crates, err := fromFile(root, "Rust crates")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range crates {
		if !strings.Contains(string(lock), "name = \""+c.name+"\"\nversion = \""+c.version+"\"") {
			t.Errorf("crate %s %s is not the one of Cargo.lock: run make third-party where cargo is installed", c.name, c.version)
		}
	}
	if !slices.ContainsFunc(crates, func(c component) bool { return c.name == "automerge" }) {
		t.Errorf("the crate automerge is not listed")
	}
}

func TestLicencesAreTold(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                          "Apache-2.0",
		"Permission is hereby granted, free of charge, to any":                                 "MIT",
		"Redistribution and use in source and binary forms\nNeither the name of Google":        "BSD-3-Clause",
		"Redistribution and use in source and\nbinary forms, with or without":                  "BSD-2-Clause",
		"Permission is hereby granted, free of charge\nApache License, Version 2.0, see below": "Apache-2.0 AND MIT",
		"do what you like": "see its sources",
	} {
		if got := licenceKind(text); got != want {
			t.Errorf("%.30q: %s, want %s", text, got, want)
		}
	}
	if got := copyright("  Copyright (c) 2009 The Go Authors. All rights reserved.\n\nthe copyright notice"); got != "Copyright (c) 2009 The Go Authors" {
		t.Errorf("copyright %q", got)
	}
}
