// Package e2e tests the programs as they are shipped: it builds both, starts them on databases and ports of their own,
// treats them as the world does (kills, outages, full disks, executors that misbehave, requests that make no sense), and
// then compares the database, what executors received, and what people are told.
//
// It has tests only. They need nothing but Go for the embedded database; for MariaDB, see package dbtest.
package e2e
