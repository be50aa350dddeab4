// Package db is everything about the database: how it is opened and brought to the current schema, the typed
// queries that sqlc generates, the few batched statements that it cannot, and what a driver's error means.
// The embedded SQLite file and MySQL or MariaDB look the same from outside.
package db

import "embed"

// migrationFiles holds one folder of goose migrations per dialect; the numbers in both agree.
//
//go:embed migrations/mysql/*.sql migrations/sqlite/*.sql
var migrationFiles embed.FS
