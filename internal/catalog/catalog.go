// Package catalog is the daemon's own small database: which notebook has which
// path, and the records of executions that have left their documents. It is a
// SQLite file in the state folder. A Catalog is safe for concurrent use; every
// call waits for the disk at most as long as its context allows.
package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"runt/internal/domain"
	"runt/internal/wire"
)

// Limits of what is kept.
const (
	MaxExecutions = 20000            // records of executions, oldest go first
	schemaVersion = 1                // of the file
	openTimeout   = 10 * time.Second // for opening and migrating
	dsnOptions    = "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)"
)

// Catalog is an open database.
type Catalog struct {
	db *sql.DB
}

const schema = `
CREATE TABLE IF NOT EXISTS notebooks (id TEXT PRIMARY KEY, path TEXT UNIQUE, updated INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS executions (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, notebook TEXT NOT NULL, record BLOB NOT NULL);
PRAGMA user_version = 1;`

// Open opens or makes the database. A file of a newer version is refused and
// not touched.
func Open(path string) (*Catalog, error) {
	db, err := sql.Open("sqlite", "file:"+path+dsnOptions)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	var version int
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if err == nil && version > schemaVersion {
		err = fmt.Errorf("its version %d is newer than this program knows", version)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, schema)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open catalog %s: %w", path, err), db.Close())
	}
	return &Catalog{db: db}, nil
}

// Close closes the database.
func (c *Catalog) Close() error { return c.db.Close() }

// IDOf returns the notebook that has the path, or "".
func (c *Catalog) IDOf(ctx context.Context, path string) (domain.NotebookID, error) {
	return one[domain.NotebookID](ctx, c.db, "SELECT id FROM notebooks WHERE path = ?", path)
}

// PathOf returns the path of a notebook, or "".
func (c *Catalog) PathOf(ctx context.Context, id domain.NotebookID) (string, error) {
	return one[string](ctx, c.db, "SELECT coalesce(path, '') FROM notebooks WHERE id = ?", string(id))
}

func one[T ~string](ctx context.Context, db *sql.DB, query string, arg string) (T, error) {
	var v string
	err := db.QueryRowContext(ctx, query, arg).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read catalog: %w", err)
	}
	return T(v), nil
}

// Bind makes path the notebook's own, taking it from any other.
func (c *Catalog) Bind(ctx context.Context, id domain.NotebookID, path string, now time.Time) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, "UPDATE notebooks SET path = NULL WHERE path = ? AND id <> ?", path, string(id)); err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO notebooks (id, path, updated) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET path = excluded.path, updated = excluded.updated`, string(id), path, now.Unix()); err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	return nil
}

// AddExecution keeps the record of an execution, replacing one of that id.
func (c *Catalog) AddExecution(ctx context.Context, rec wire.ExecutionRecord) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode execution record: %w", err)
	}
	if _, err := c.db.ExecContext(ctx, "INSERT OR REPLACE INTO executions (id, notebook, record) VALUES (?, ?, ?)",
		rec.ExecutionID, rec.ContextID, b); err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	_, err = c.db.ExecContext(ctx, "DELETE FROM executions WHERE n <= (SELECT max(n) FROM executions) - ?", MaxExecutions)
	if err != nil {
		return fmt.Errorf("trim catalog: %w", err)
	}
	return nil
}

// Each calls f with every record of an execution.
func (c *Catalog) Each(ctx context.Context, f func(rec wire.ExecutionRecord)) error {
	rows, err := c.db.QueryContext(ctx, "SELECT record FROM executions")
	if err != nil {
		return fmt.Errorf("read catalog: %w", err)
	}
	defer rows.Close() //nolint:errcheck // what it says, Err says too
	for rows.Next() {
		var b []byte
		var rec wire.ExecutionRecord
		if err := rows.Scan(&b); err != nil {
			return fmt.Errorf("read catalog: %w", err)
		}
		if err := json.Unmarshal(b, &rec); err != nil {
			return fmt.Errorf("read catalog: %w", err)
		}
		f(rec)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read catalog: %w", err)
	}
	return nil
}

// Execution returns the record of an execution.
func (c *Catalog) Execution(ctx context.Context, id domain.ExecutionID) (rec wire.ExecutionRecord, found bool, err error) {
	var b []byte
	err = c.db.QueryRowContext(ctx, "SELECT record FROM executions WHERE id = ?", string(id)).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return rec, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &rec)
	}
	if err != nil {
		return rec, false, fmt.Errorf("read catalog: %w", err)
	}
	return rec, true, nil
}
