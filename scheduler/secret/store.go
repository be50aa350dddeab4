package secret

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

// ErrNoKey means that the installation has no secret key, without which it keeps no secrets of jobs.
var ErrNoKey = errors.New("this admin has no secret key (PUNCTUAL_SECRET_KEY_FILE)")

// OpenError is a secret that was sealed with another key.
type OpenError struct {
	Name string
	Err  error
}

func (e *OpenError) Error() string { return "open secret " + e.Name + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// Store keeps secrets in the database, sealed.
type Store struct {
	queries *db.Queries
	seal    *seal.Seal
}

// NewStore makes a store. Without a seal it takes none and gives none.
func NewStore(sealing *seal.Seal) *Store { return &Store{queries: db.New(), seal: sealing} }

// Ready says whether there is a key.
func (s *Store) Ready() bool { return s.seal != nil }

// purpose binds a sealed value to its row.
func purpose(group int64, name string) string {
	return fmt.Sprintf("punctual_secret %d %s", group, key(name))
}

// Resolve is the values of secrets of a group by their names in capitals, and the names of those that there are not.
func (s *Store) Resolve(ctx context.Context, tx db.DBTX, group int64, names []string) (values map[string]string, missing []string, err error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	if s.seal == nil {
		return nil, nil, ErrNoKey
	}
	rows, err := s.queries.ListSecretValues(ctx, tx, group)
	if err != nil {
		return nil, nil, fmt.Errorf("read secrets: %w", db.Error(err))
	}
	sealed := make(map[string]string, len(rows))
	for _, r := range rows {
		sealed[key(r.Name)] = r.Value
	}
	values = make(map[string]string, len(names))
	for _, name := range names {
		text, ok := sealed[key(name)]
		if !ok {
			missing = append(missing, name)
			continue
		}
		plain, err := s.seal.Open(text, purpose(group, name))
		if err != nil {
			return nil, nil, &OpenError{Name: name, Err: err}
		}
		values[key(name)] = string(plain)
	}
	return values, missing, nil
}

// Set keeps a value under a name, or another in its place.
func (s *Store) Set(ctx context.Context, tx db.DBTX, group int64, name, value, by string, nowMs int64) error {
	if s.seal == nil {
		return ErrNoKey
	}
	err := s.queries.SetSecret(ctx, tx, db.SetSecretParams{
		GroupID: group, Name: key(name), Value: s.seal.Close([]byte(value), purpose(group, name)), UpdatedBy: by, CreatedAt: nowMs, UpdatedAt: nowMs,
	})
	if err != nil {
		return fmt.Errorf("keep secret: %w", db.Error(err))
	}
	return nil
}
