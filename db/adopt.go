package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// adopt brings the tables of an XXL-JOB database to the baseline, which is version 3.4.2, by doing only what is missing: 3.5, which
// renamed two columns, is brought back to it ([Pool.HandBack] renames them again).
// The baseline migration then adds the tables that are missing, if any, and finds the others there.
//
// XXL-JOB keeps no schema version, and some of its releases changed the create script without an upgrade script, so that the same
// version is found with different indexes: what counts is what information_schema shows. Every step can be repeated, and
// what a start that was cut short has left is read again by the next.
func (p *Pool) adopt(ctx context.Context, target *sql.DB) error {
	found, err := readSchema(ctx, target)
	if err != nil {
		return err
	}
	steps, err := adoptionSteps(found)
	if err != nil {
		return err
	}
	if found["xxl_job_info"] != nil {
		p.logger.Info("adopting an XXL-JOB database", "releases", releaseOf(found).Span(), "steps", len(steps), "zone", p.zone.String())
		if err := p.checkZone(ctx, target, found); err != nil {
			return err
		}
		if err := p.noteAdoption(ctx, target, found); err != nil {
			return err
		}
	}
	for _, s := range steps {
		p.logger.Info("adopt: "+s.why, "table", s.table)
		if err := s.run(ctx, p, target); err != nil {
			return fmt.Errorf("%s of %s: %w", s.why, s.table, err)
		}
	}
	return verifyAs(ctx, target, "00001_*.sql", true) // before migrations trip over what somebody changed by hand
}

// step is one part of an adoption: statements that belong together, of which the last is repeated
// with its preparation when rows got in between (an old admin may still be running).
type step struct {
	table   string
	why     string
	prepare string // removes what the statement would trip over; may be empty
	stmt    string
}

// adoptTries bounds how often a unique index is tried while somebody else keeps adding duplicates.
const adoptTries = 5

func (s step) run(ctx context.Context, p *Pool, target *sql.DB) error {
	for try := 1; ; try++ {
		if s.prepare != "" {
			if _, err := target.ExecContext(ctx, s.prepare); err != nil {
				return err
			}
		}
		err := s.do(ctx, p, target)
		if err == nil || s.prepare == "" || try == adoptTries || !errors.Is(Error(err), ErrDuplicate) {
			return err
		}
	}
}

// do runs the statement. Tables are changed online where the server can.
func (s step) do(ctx context.Context, p *Pool, target *sql.DB) error {
	if strings.HasPrefix(s.stmt, "ALTER TABLE ") {
		return p.alterOnline(ctx, target, s.table, s.stmt)
	}
	_, err := target.ExecContext(ctx, s.stmt)
	return err
}

var errQuartz = errors.New("its tables are those of XXL-JOB 2.0 or older (XXL_JOB_QRTZ_…); upgrade to XXL-JOB 2.3 first")

// adoptionSteps decides what a database lacks. It is pure, and what it returns for a baseline database is nothing.
func adoptionSteps(found schema) ([]step, error) {
	job := found["xxl_job_info"]
	if job == nil {
		if found["xxl_job_qrtz_trigger_info"] != nil {
			return nil, errQuartz
		}
		return nil, nil
	}
	var steps []step
	for _, adopt := range []struct {
		table string
		rest  func(*table) []step
	}{
		{"xxl_job_info", adoptJobs}, {"xxl_job_group", adoptGroups}, {"xxl_job_registry", adoptRegistry}, {"xxl_job_log", adoptRuns},
		{"xxl_job_log_report", adoptReports}, {"xxl_job_user", adoptUsers}, {"xxl_job_logglue", adoptNothing}, {"xxl_job_lock", adoptNothing},
	} {
		t, stored := adoptStorage(found[adopt.table])
		steps = append(append(steps, stored...), adopt.rest(t)...)
	}
	return steps, nil
}

func adoptNothing(*table) []step { return nil }

// adoptStorage makes a table what XXL-JOB's scripts have made since 2.1: one of InnoDB, without which nothing is a transaction, whose text
// is utf8mb4, without which the database refuses a result for a character that it does not have. It returns the table as it is then.
func adoptStorage(t *table) (*table, []step) {
	if t == nil {
		return nil, nil
	}
	clauses := []string{"ROW_FORMAT = DYNAMIC"}
	var why []string
	is := *t
	is.rowFormat = "Dynamic"
	if t.engine == "myisam" || t.engine == "aria" {
		clauses, why = append(clauses, "ENGINE = InnoDB"), append(why, "make it a table with transactions")
	}
	if t.lacksCharacters() {
		is.collation = withAllCharacters(t.collation)
		clauses, why = append(clauses, "CONVERT TO CHARACTER SET "+allCharacters+" COLLATE "+is.collation), append(why, "let its text have every character")
		is.columns = make(map[string]column, len(t.columns))
		for name, c := range t.columns {
			if c.charset != "" {
				c.charset, c.collation = allCharacters, is.collation
			}
			is.columns[name] = c
		}
	}
	if why == nil {
		return t, nil
	}
	return &is, []step{{table: t.name, why: strings.Join(why, ", and ") + " (this copies it)", stmt: "ALTER TABLE " + quoteName(t.name) + " " + strings.Join(clauses, ", ")}}
}

const allCharacters = "utf8mb4"

// lacksCharacters says whether there are characters that a text of the table cannot have.
func (t *table) lacksCharacters() bool {
	for _, c := range t.columns {
		if c.charset != "" && c.charset != allCharacters {
			return true
		}
	}
	return false
}

// withAllCharacters is the collation that compares in the same way, where there is one: a unique key must not have twins for another.
func withAllCharacters(collation string) string {
	charset, rule, _ := strings.Cut(collation, "_")
	if charset == "utf8" || charset == "utf8mb3" {
		switch rule {
		case "bin", "general_ci", "unicode_ci", "unicode_520_ci":
			return allCharacters + "_" + rule
		}
	}
	return allCharacters + "_unicode_ci"
}

func adoptJobs(t *table) []step {
	var a alteration
	a.rename(t, "name", "job_desc", "VARCHAR(255)")
	a.add(t, "schedule_type", "VARCHAR(50) NOT NULL DEFAULT 'NONE'", "job_cron")
	a.add(t, "schedule_conf", "VARCHAR(128) DEFAULT NULL", "schedule_type")
	a.add(t, "misfire_strategy", "VARCHAR(50) NOT NULL DEFAULT 'DO_NOTHING'", "schedule_conf")
	a.toText(t, "executor_param")
	if t.compact() {
		a.clause("ROW_FORMAT = DYNAMIC") // the older formats have no room in a row for the columns of ours
	}
	steps := a.steps(t, "complete the columns")
	if t.has("job_cron") && !t.columns["job_cron"].hasDefault {
		// 2.1 and 2.2 knew cron jobs only. The column stays, see jobcron.go, and rows of ours may do without it.
		steps = append(steps,
			step{table: t.name, why: "carry job_cron over", stmt: "UPDATE xxl_job_info SET schedule_type = 'CRON', " +
				"schedule_conf = job_cron WHERE schedule_type = 'NONE' AND schedule_conf IS NULL AND job_cron <> ''"},
			step{table: t.name, why: "keep job_cron beside it", stmt: "ALTER TABLE xxl_job_info ALTER COLUMN job_cron SET DEFAULT ''"})
	}
	return steps
}

func adoptGroups(t *table) []step {
	var a alteration
	a.rename(t, "name", "title", "VARCHAR(64)")
	a.widen(t, "title", 64, "NOT NULL")
	a.toText(t, "address_list")
	a.add(t, "update_time", "DATETIME DEFAULT NULL", "")
	if t.has("order") && !t.columns["order"].hasDefault {
		// Left from 2.1, and nobody but its own admin would ever fill it.
		a.clause("ALTER COLUMN `order` SET DEFAULT 0")
	}
	return a.steps(t, "complete the columns")
}

func adoptRegistry(t *table) []step {
	var a alteration
	if t.has("id") && t.columns["id"].dataType != "bigint" {
		// Every heartbeat of 2.5 and later burns an id, so an INT really runs out.
		a.clause("MODIFY COLUMN id BIGINT NOT NULL AUTO_INCREMENT")
	}
	keys := []string{"registry_group", "registry_key", "registry_value"}
	prepare := ""
	if t != nil && !t.unique(keys...) {
		prepare = dropDuplicates(t.name, keys)
		for _, index := range t.indexes {
			if strings.EqualFold(index.name, "i_g_k_v") {
				a.clause("DROP INDEX " + quoteName(index.name))
			}
		}
		a.clause("ADD UNIQUE KEY i_g_k_v (registry_group, registry_key, registry_value)")
		if t.compact() {
			a.clause("ROW_FORMAT = DYNAMIC") // the older formats cannot index so many bytes
		}
	}
	steps := a.steps(t, "make addresses unique")
	if len(steps) > 0 {
		steps[0].prepare = prepare
	}
	return steps
}

func adoptRuns(t *table) []step {
	// As TEXT it would be the only change for which every writer waits until the whole log is copied. What does not fit is refused
	// where parameters are typed; see [Pool.FitsParam].
	var param, a alteration
	if t.has("executor_param") && t.columns["executor_param"].dataType == "varchar" {
		param.widen(t, "executor_param", runParamChars, "NULL")
	}
	a.index(t, "I_trigger_time", "trigger_time")
	a.index(t, "I_handle_code", "handle_code")
	return append(param.steps(t, "widen the parameter"), a.steps(t, "complete the indexes (this may take minutes on a big log)")...)
}

// runParamChars is how many characters the parameter of a run may have where the log was that of XXL-JOB 3.3.2 or older: more than
// row has room for beside its other columns.
const runParamChars = 10_000

func adoptReports(t *table) []step {
	var a alteration
	a.add(t, "update_time", "DATETIME DEFAULT NULL", "")
	prepare := ""
	if t != nil && !t.unique("trigger_day") {
		prepare = dropDuplicates(t.name, []string{"trigger_day"})
		a.clause("ADD UNIQUE KEY i_trigger_day (trigger_day)")
	}
	steps := a.steps(t, "complete the columns")
	if len(steps) > 0 {
		steps[0].prepare = prepare
	}
	return steps
}

func adoptUsers(t *table) []step {
	var a alteration
	a.widen(t, "password", 100, "NOT NULL")
	a.add(t, "token", "VARCHAR(100) DEFAULT NULL", "password")
	return a.steps(t, "make room for modern password hashes")
}

// dropDuplicates keeps the newest row of each value, which for addresses and day counts is the one that is kept up to date.
func dropDuplicates(table string, keys []string) string {
	var same strings.Builder
	for _, k := range keys {
		same.WriteString(k + " IS NOT NULL AND ")
	}
	// The inner SELECT has a table of its own because MySQL cannot read the table it deletes from.
	return "DELETE FROM " + table + " WHERE " + same.String() + "id NOT IN (SELECT kept.id FROM (SELECT MAX(id) AS id FROM " +
		table + " GROUP BY " + strings.Join(keys, ", ") + ") AS kept)"
}
