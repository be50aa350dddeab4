// Package bench measures the whole system as a user would run it: the admin program, a database with full durability, and a real
// HTTP executor in a process of its own, all on this machine. It prints the machine, the database's settings and a table, or all of
// it as JSON.
//
//	punctual bench                                     what an installation asks first, on a temporary embedded database
//	make bench BENCH='--database embedded --only lateness'
//
// What the figures mean, and how one is taken, stands beside each scenario.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/db"
)

// Settings are the flags of punctual bench.
type Settings struct {
	Database []string `default:"embedded" enum:"embedded,mariadb,given" help:"embedded: a temporary one; mariadb: a private server, whose program must be there; given: that of --database-url."`
	URL      string   `name:"database-url" secret:"" placeholder:"URL" help:"An empty database to measure with, as in PUNCTUAL_DATABASE_URL; what is made in it goes again. Implies --database given."`
	Binlog   bool     `help:"Start mariadb as a source of replicas is set up: with a binary log that is flushed at every commit, and reached over TCP."`
	Memory   string   `default:"4G" help:"The buffer pool of mariadb."`
	Only     string   `placeholder:"TEXT" help:"Scenarios whose name contains this, also of those that are for Punctual's developers."`
	All      bool     `help:"All scenarios. Takes an hour."`
	Seconds  int      `default:"15" help:"Length of each measurement."`
	Output   string   `short:"o" default:"table" enum:"table,json" help:"table or json."`
	Binary   string   `placeholder:"FILE" help:"The admin program to measure; default this one."`
	Rate     int      `default:"20000" help:"Offered triggers/s of the saturation scenario."`
	Steps    int      `default:"10000" help:"Offered steps/s of flows."`
	Runs     int      `default:"5000000" help:"Runs in the log of the scenarios about a big one."`
	Jobs     int      `default:"100000" help:"Jobs of the scenarios about pages, the audit and a start of many jobs."`
	Plain    bool     `help:"An executor that does no more than XXL-JOB's protocol asks for: a run a request, and results from one thread."`
	// Each executor flushes a journal of its own, and where ten do so on the disk of the database, all commits wait for them.
	ExecutorDir string `name:"executor-dir" placeholder:"DIR" help:"Where the executors keep their data; default beside the database, on whose disk they are no executors of other machines."`
	Executors   int    `default:"10" help:"Executors that ask for their calls and have work."`
	Pollers     int    `default:"2000" help:"Executors that ask for their calls and have none."`
	Text        int    `default:"1000" help:"MB of text that the scenario about the search in outputs looks through."`
	Waiting     int    `help:"Events that the scenario about receivers begins with when they go away, as if they had been away before."`
	Dir         string `placeholder:"DIR" help:"Where the scenario about pages keeps its databases, to measure them again without filling them."`
	Page        string `placeholder:"TEXT" help:"Pages whose name contains this."`
	Profile     string `placeholder:"DIR" help:"Where CPU profiles of the admin are put, one of each window that is measured."`

	out *results
}

// The databases that can be measured.
const (
	embedded     = "embedded"
	privateMaria = "mariadb"
	given        = "given"
)

// Errors of flags that do not go together.
var (
	errNoURL   = errors.New("--database given needs --database-url")
	errNothing = errors.New("no scenario's name contains what --only says")
)

// Run measures, and writes to out. The version is that of this program. It takes minutes, and ends early with ctx.
func Run(ctx context.Context, s Settings, version string, out io.Writer) error {
	if s.URL != "" {
		s.Database = []string{given}
	}
	if s.URL == "" && slices.Contains(s.Database, given) {
		return errNoURL
	}
	if s.Binary == "" {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		s.Binary = own
	}
	chosen := s.chosen()
	if len(chosen) == 0 {
		return errNothing
	}
	s.out = &results{plain: out, json: s.Output == "json", Machine: machine(version)}
	s.out.begin()
	var failed []error
	for _, database := range s.Database {
		for _, sc := range chosen {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := sc.measure(ctx, s, database); err != nil {
				failed = append(failed, fmt.Errorf("%s, %s: %w", database, sc.name, err))
			}
		}
	}
	return errors.Join(append(failed, s.out.end())...)
}

// chosen are the scenarios to measure: those for everybody, unless more are asked for.
func (s *Settings) chosen() []scenario {
	everybody := standard()
	if s.Only == "" && !s.All {
		return everybody
	}
	return slices.DeleteFunc(append(everybody, scenarios()...), func(sc scenario) bool { return !strings.Contains(sc.name, s.Only) })
}

// standard are the scenarios that say what an installation can do.
func standard() []scenario {
	return []scenario{
		{"start-up and idle memory", startUp},
		{"lateness at 100/s", latenessAt(100)},
		{"lateness at 1000/s", latenessAt(1000)},
		{"lateness on the second", onTheSecond("1,000", 1000)},
		{"curve", curve},
	}
}

func latenessAt(rate int) func(context.Context, Settings, string) error {
	return func(ctx context.Context, s Settings, database string) error {
		return lateness(ctx, s, database, rate, 0)
	}
}

// noteDatabase tells once how a database is set.
func (s *Settings) noteDatabase(ctx context.Context, database string, pool *db.Pool) error {
	if s.out.known(database) {
		return nil
	}
	query := `SELECT CONCAT(VERSION(), '; innodb_flush_log_at_trx_commit ', @@innodb_flush_log_at_trx_commit, ', log_bin ', @@log_bin, ', sync_binlog ', @@sync_binlog,
 ', innodb_doublewrite ', @@innodb_doublewrite, ', buffer pool ', ROUND(@@innodb_buffer_pool_size/1048576), ' MB')`
	if pool.Dialect() == db.SQLite {
		query = "SELECT 'SQLite ' || sqlite_version() || '; synchronous ' || (SELECT synchronous FROM pragma_synchronous) || ', journal ' || (SELECT journal_mode FROM pragma_journal_mode)"
	}
	var text string
	if err := pool.QueryRowContext(ctx, query).Scan(&text); err != nil {
		return err
	}
	s.out.database(database, text)
	return nil
}
