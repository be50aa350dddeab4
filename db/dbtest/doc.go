// Package dbtest lends tests real databases: clean, migrated, one per test, on both dialects.
//
// SQLite needs nothing. For MariaDB each test binary starts one private server in a temporary directory when the first test asks,
// and it is gone, with its files, when the binary ends in whatever way. Without mariadbd on the machine those tests skip and say
// how to get it; with TEST_DB=required in the environment they fail.
//
// TEST_DB_ROOT=DIR takes the private servers from a folder with Debian's mysql-server-core or mariadb-server-core instead (make
// test/mysql, make test/mariadb). With TEST_DATABASE_URL the tests run on a server that is there already, in databases of their own; those that stop and kill their
// server skip. Galera clusters are of the machine's MariaDB in any case.
package dbtest
