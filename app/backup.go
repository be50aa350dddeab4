package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
)

var errNotEmbedded = errors.New("this is for the embedded database; a MySQL or MariaDB is backed up with its own tools, see docs/operations.md")

// Backup writes the embedded database, as it is at one moment, to a file that is not there yet, and returns its size in bytes. An
// admin may run on it.
func Backup(ctx context.Context, o Options, to string) (size int64, err error) {
	if o, err = o.withDefaults(); err != nil {
		return 0, err
	}
	if o.DatabaseURL != "" {
		return 0, &OptionsError{Err: errNotEmbedded}
	}
	return db.Backup(ctx, o.DataDir, to)
}

// Restore puts a backup in the place of the embedded database, on which no admin may be running; see [db.Restore]. With hold, which is a
// reason, no admin begins on it ([Hold]).
func Restore(ctx context.Context, o Options, from string, overNewer bool, hold string) (kept string, err error) {
	if o, err = o.withDefaults(); err != nil {
		return "", err
	}
	if o.DatabaseURL != "" {
		return "", &OptionsError{Err: errNotEmbedded}
	}
	note := db.RestoreNote{By: commandLine, Action: string(manage.ActionRestore), Kind: manage.ObjectDatabase}
	if hold != "" { // from the first moment: an admin could start, or this program end, before the rest of it is said
		if note.Settings, err = manage.HeldFromTheStart(commandLine, hold); err != nil {
			return "", err
		}
	}
	if kept, err = db.Restore(ctx, o.DataDir, from, note, overNewer); err != nil || hold == "" {
		return kept, err
	}
	if err := Hold(ctx, o, hold); err != nil { // which is in the audit log
		return kept, fmt.Errorf("restored into %s, and the hold is not on record: %w", o.DataDir, err)
	}
	return kept, nil
}
