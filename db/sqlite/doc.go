// Package sqlite opens a SQLite file so that it answers the way MySQL does.
//
// The program's queries are written once, in MySQL's dialect. A [Connector] stands between database/sql and
// modernc's driver and makes up the difference, so that nothing above it knows which database it talks to:
//
//   - Statements are rewritten (see newPlan) and the result is remembered.
//   - Times go in as UTC text without a fraction and come back as UTC times; []byte goes in as text.
//   - LastInsertId of a multi-row INSERT is the first id, and affected rows are the matched rows.
//   - A transaction that SQLite rolled back by itself refuses everything that follows.
//
// What it does not make up: SQLite checks neither the length of text nor the size of integers.
//
// # Pools of sessions
//
//	database/sql conn ──write──▶ writer pool: one SQLite connection, handed out in order of asking
//	                  ──read───▶ reader pool: a few SQLite connections, each on its own snapshot
//
// SQLite has one writer at a time and answers the second with SQLITE_BUSY, after sleeping in a loop that knows no
// context. Here a writer waits in Go instead: in order, and only as long as its context allows. A write transaction holds
// the pool from BEGIN IMMEDIATE to its end, a single write statement for its own duration. Reads never wait for it (WAL).
// A connection of database/sql is only a ticket: it borrows a SQLite connection while it has something to do, so hundreds
// of waiting writers cost nothing, and all writes share one page cache and one set of prepared statements.
//
// # Limits
//
// A statement takes at most 32,766 placeholders, SQLite's own limit: 500 rows of 65 columns. Session state (temporary
// tables, PRAGMA settings) does not survive between statements outside a transaction.
package sqlite
