// Package dbtest lends tests real databases: clean, migrated, one per test, on both dialects.
//
// SQLite needs nothing. For MariaDB each test binary starts one private server in a temporary directory when the first test asks,
// and it is gone, with its files, when the binary ends in whatever way. Without mariadbd on the machine those tests skip and say
// how to get it; with TEST_DB=required in the environment they fail.
package dbtest
