package mcpserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"runt/internal/domain"
)

// minToken is the least length of a token that is not ours.
const minToken = 16

// Token is what clients over HTTP must bring.
type Token struct {
	Text string
	File string // where it is kept; "" when it came from the environment
	New  bool   // it was made just now
}

// HTTPToken takes the token from a file if one is named, else from env if that is
// not empty, else from the file mcp-token in dir, where it is made at the first time.
func HTTPToken(file, env, dir string) (Token, error) {
	switch {
	case file != "":
		return readToken(file)
	case env != "":
		return checkToken(Token{Text: strings.TrimSpace(env)}, "The token in RUNT_MCP_TOKEN")
	}
	file = filepath.Join(dir, "mcp-token")
	t, err := readToken(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	t = Token{Text: rand.Text(), File: file, New: true}
	if err := writeToken(t); err != nil {
		return Token{}, fmt.Errorf("write token: %w", err)
	}
	return t, nil
}

func readToken(file string) (Token, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Token{}, domain.Errorf(domain.CodeInvalidArgument, "The token file cannot be read: %w", err).
			WithHint("Write a token of %d characters or more to it, or leave --token-file out to have one made.", minToken)
	}
	return checkToken(Token{Text: strings.TrimSpace(string(data)), File: file}, "The token in "+file)
}

func checkToken(t Token, what string) (Token, error) {
	if len(t.Text) < minToken || strings.ContainsAny(t.Text, " \t\r\n") {
		return Token{}, invalidf("%s has fewer than %d characters, or spaces in it.", what, minToken).WithHint("Make one with: openssl rand -hex 16")
	}
	return t, nil
}

// writeToken makes the file in one step, so that nobody reads half of it.
func writeToken(t Token) error {
	if err := os.MkdirAll(filepath.Dir(t.File), 0o700); err != nil {
		return err
	}
	return replaceFile(t.File, []byte(t.Text+"\n"))
}
