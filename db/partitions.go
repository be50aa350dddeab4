package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The log can be kept in partitions by ranges of ids, so that what is too old goes as files and not row by row. Ids rise with time, so
// a partition is a stretch of time. Nothing else changes: whoever writes rows, an XXL-JOB admin too, need not know.
//
//	p5000000  ids below 5,000,000      pmax  all above, empty as long as somebody adds partitions in time ([Pool.ExtendLog])

// LogPartition is a stretch of the log.
type LogPartition struct {
	Name  string
	From  int64 // the least id that is in it
	Below int64 // ids are below; 0: no bound, the last one
	Bytes int64 // of data and indexes, as the server estimates it
}

// Empty partitions are kept ahead, at least so many; the last, without a bound, is never to get a row: from then on adding one copies rows.
const logAhead = 3

const (
	// MinLogWidth is the least number of ids in a partition: each is a file, and a list of runs reads a little of all of them.
	MinLogWidth = 1_000_000
	// maxLogPartitions bounds them: a list of runs reads the newest of every partition.
	maxLogPartitions = 400
	// lastPartition has no bound.
	lastPartition = "pmax"
	// maxMoved is how many rows in the last partition are copied where somebody waits for the log meanwhile.
	maxMoved = 100_000
	// lockSeconds is how long a change of partitions waits for statements that read the log. Whatever comes after it waits too.
	lockSeconds = 1
)

var (
	// ErrEmbedded means that the embedded database has no partitions.
	ErrEmbedded = errors.New("the embedded database has no partitions")
	// ErrPartitioned means that the log is in partitions already, and ErrNotPartitioned that it is not.
	ErrPartitioned    = errors.New("the log is in partitions already")
	ErrNotPartitioned = errors.New("the log is not in partitions")
	// ErrNarrow means that partitions would be too many, or too small.
	ErrNarrow = errors.New("partitions would be too small")
	// ErrForeignPartitions means that somebody has made partitions that are not by ranges of ids up to one without a bound.
	ErrForeignPartitions = errors.New("the log is in partitions of another kind")
	// ErrMustCopy means that the server cannot take the table as it is for a partition.
	ErrMustCopy = errors.New("the server cannot make the log a partition as it is; it must be copied")
	// ErrLastPartition means that the partition without a bound has too many rows for adding one beside the work.
	ErrLastPartition = errors.New("the last partition of the log, which is to be empty, is full of rows")
)

// LogPartitions lists the partitions of the log from the oldest; none where it is one table. It wraps [ErrForeignPartitions].
func (p *Pool) LogPartitions(ctx context.Context) ([]LogPartition, error) {
	if p.dialect != MySQL {
		return nil, nil
	}
	rows, err := p.QueryContext(ctx, `SELECT partition_name, UPPER(partition_method), LOWER(REPLACE(partition_expression, '`+"`"+`', '')), COALESCE(partition_description, ''),
			data_length + index_length
		FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log' AND partition_name IS NOT NULL ORDER BY partition_ordinal_position`)
	if err != nil {
		return nil, fmt.Errorf("read the partitions of the log: %w", Error(err))
	}
	var list []LogPartition
	from := int64(0)
	err = scanAll(rows, func() error {
		var l LogPartition
		var method, expression, below string
		if err := rows.Scan(&l.Name, &method, &expression, &below, &l.Bytes); err != nil {
			return err
		}
		if method != "RANGE" || expression != "id" {
			return fmt.Errorf("%w: by %s (%s)", ErrForeignPartitions, method, expression)
		}
		l.From = from
		if below != "MAXVALUE" {
			if _, err := fmt.Sscan(below, &l.Below); err != nil {
				return fmt.Errorf("read the bound of partition %s: %w", l.Name, err)
			}
			from = l.Below
		}
		list = append(list, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(list) > 0 && (list[len(list)-1].Below != 0 || list[len(list)-1].Name != lastPartition || len(list) < 2) {
		return nil, fmt.Errorf("%w: the last one is not %s, without a bound", ErrForeignPartitions, lastPartition)
	}
	return list, nil
}

// LogPlan is what [Pool.PartitionLog] would do.
type LogPlan struct {
	Runs, Bytes int64 // of the log, estimated by the server
	Last        int64 // the newest run's id
	PerDay      int64 // ids of the last seven days, a day; 0: there are none
	Width       int64 // ids in a partition
	Bound       int64 // below it are all runs there are: they become the first partition
}

// PlanLog says what partitions of so many ids would be; width 0: of the ids of a day. It wraps [ErrEmbedded], [ErrPartitioned],
// [ErrForeignPartitions] and [ErrNarrow].
func (p *Pool) PlanLog(ctx context.Context, width int64, now time.Time) (plan LogPlan, err error) {
	if p.dialect != MySQL {
		return plan, ErrEmbedded
	}
	list, err := p.LogPartitions(ctx)
	if err != nil {
		return plan, err
	}
	if len(list) > 0 {
		return plan, ErrPartitioned
	}
	err = p.QueryRowContext(ctx, `SELECT COALESCE(table_rows, 0), COALESCE(data_length, 0) + COALESCE(index_length, 0) FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'`).Scan(&plan.Runs, &plan.Bytes)
	if err == nil {
		plan.Last, err = New().MaxRunID(ctx, p)
	}
	if err != nil {
		return plan, fmt.Errorf("read the size of the log: %w", Error(err))
	}
	const days = 7
	first, err := New().FirstRunIDSince(ctx, p, sql.NullTime{Time: p.Wall(now.AddDate(0, 0, -days)), Valid: true})
	if err = Error(err); err != nil && !errors.Is(err, ErrNotFound) {
		return plan, fmt.Errorf("read the runs of the last days: %w", err)
	}
	if err == nil && first > 0 {
		plan.PerDay = (plan.Last - first + 1) / days
	}
	plan.Width = width
	if width == 0 {
		plan.Width = max(MinLogWidth, roundUp(plan.PerDay, MinLogWidth))
	}
	if least := max(MinLogWidth, plan.PerDay/10); plan.Width < least {
		return plan, fmt.Errorf("%w: %d runs; at least %d", ErrNarrow, plan.Width, least)
	}
	plan.Bound = roundUp(plan.Last+1, plan.Width)
	return plan, nil
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// PartitionLog carries a plan out. All admins are stopped for it: it wraps [ErrStillRunning] when one beats within look. Where the
// server can, the table as it is becomes the first partition, which reads it once and writes nothing; else it wraps [ErrMustCopy],
// and with copying all of the log is written anew. Stopped at any point, it leaves the log as it was, or done, or renamed, which the
// next start of an admin mends.
func (p *Pool) PartitionLog(ctx context.Context, plan LogPlan, copying bool, look time.Duration) error {
	if err := p.nobodyWrites(ctx, look); err != nil {
		return err
	}
	parts := partitionsFrom(plan.Bound, plan.Width, logAhead+1)
	return p.underMigrationLock(ctx, func(admin *sql.DB) error {
		if copying || plan.Last == 0 {
			return alterLog(ctx, admin, "ALTER TABLE xxl_job_log PARTITION BY RANGE (id) ("+parts+")", 0)
		}
		return exchangeLog(ctx, admin, parts, partitionName(plan.Bound))
	})
}

// nobodyWrites refuses while an admin beats, and beside XXL-JOB admins, which cannot be seen.
func (p *Pool) nobodyWrites(ctx context.Context, look time.Duration) error {
	if err := p.findBeside(ctx); err != nil {
		return err
	}
	if p.Beside() {
		return fmt.Errorf("%w: XXL-JOB admins work on this database", ErrStillRunning)
	}
	_, err := p.restOfNodes(ctx, look)
	return err
}

// The names of the log while it becomes a partition: of the table that it becomes one of, and of itself.
const (
	logNew = "punctual_log_new"
	logOld = "punctual_log_old"
)

// exchangeLog makes the log the first partition of a new table, and gives that its name. Between the two the log has no name, so
// that nobody can write to it.
func exchangeLog(ctx context.Context, admin *sql.DB, parts, first string) (err error) {
	var next int64
	err = admin.QueryRowContext(ctx, "SELECT COALESCE(auto_increment, 1) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log'").Scan(&next)
	if err != nil {
		return fmt.Errorf("read the next id: %w", Error(err))
	}
	setNext := fmt.Sprintf(" AUTO_INCREMENT = %d", next) // ids are not used again, also where the newest runs have been deleted
	if err := dropEmpty(ctx, admin, logNew); err != nil {
		return err
	}
	for _, stmt := range []string{
		"CREATE TABLE " + logNew + " LIKE xxl_job_log",
		"ALTER TABLE " + logNew + setNext,
		"ALTER TABLE " + logNew + " PARTITION BY RANGE (id) (" + parts + ")",
		"RENAME TABLE xxl_job_log TO " + logOld,
	} {
		if _, err := admin.ExecContext(ctx, stmt); err != nil {
			return fmt.Errorf("make the table of partitions: %w", Error(err))
		}
	}
	_, err = admin.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s EXCHANGE PARTITION %s WITH TABLE %s", logNew, first, logOld))
	ctx = context.WithoutCancel(ctx)
	if mend := mendLog(ctx, admin); mend != nil {
		return errors.Join(Error(err), mend)
	}
	if e, is := errors.AsType[*mysql.MySQLError](err); is && exchangeRefused[e.Number] {
		return fmt.Errorf("%w: %w", ErrMustCopy, err)
	} else if err != nil {
		return fmt.Errorf("make the log a partition: %w", Error(err))
	}
	if _, err := admin.ExecContext(ctx, "ALTER TABLE xxl_job_log"+setNext); err != nil {
		return fmt.Errorf("set the next id: %w", Error(err))
	}
	return nil
}

// logTables says which of the three names there are, in lower case.
func logTables(ctx context.Context, q DBTX) (there map[string]bool, err error) {
	rows, err := q.QueryContext(ctx, "SELECT LOWER(table_name) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('xxl_job_log', '"+logNew+"', '"+logOld+"')")
	if err != nil {
		return nil, fmt.Errorf("look for the log: %w", Error(err))
	}
	there = make(map[string]bool)
	return there, scanAll(rows, func() error {
		var name string
		err := rows.Scan(&name)
		there[name] = true
		return err
	})
}

// mendLog gives the log its name back after [Pool.PartitionLog] was cut short.
func (p *Pool) mendLog(ctx context.Context) error {
	if there, err := logTables(ctx, p); err != nil || there["xxl_job_log"] || !there[logOld] {
		return err
	}
	p.logger.Warn("the partitioning of the log was cut short: its name is mended")
	return p.underMigrationLock(ctx, func(admin *sql.DB) error { return mendLog(ctx, admin) })
}

// mendLog names the table xxl_job_log that has its rows: the new one after the exchange, the old one before it.
func mendLog(ctx context.Context, admin *sql.DB) error {
	there, err := logTables(ctx, admin)
	if err != nil {
		return err
	}
	if !there["xxl_job_log"] {
		has := logOld
		if there[logNew] {
			var one int
			if err := admin.QueryRowContext(ctx, "SELECT 1 FROM "+logNew+" LIMIT 1").Scan(&one); err == nil {
				has = logNew
			} else if !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("look into the table of partitions: %w", Error(err))
			}
		}
		if _, err := admin.ExecContext(ctx, "RENAME TABLE "+has+" TO xxl_job_log"); err != nil {
			return fmt.Errorf("name the log: %w", Error(err))
		}
	}
	return errors.Join(dropEmpty(ctx, admin, logNew), dropEmpty(ctx, admin, logOld))
}

// dropEmpty drops a table that an exchange has left, if it is there. One with rows is left for somebody to look at: it may be the log.
func dropEmpty(ctx context.Context, admin *sql.DB, table string) error {
	there, err := logTables(ctx, admin)
	if err != nil || !there[table] {
		return err
	}
	var one int
	if err := admin.QueryRowContext(ctx, "SELECT 1 FROM "+table+" LIMIT 1").Scan(&one); err == nil {
		return fmt.Errorf("table %s has rows, and is not dropped: look whether they are runs that xxl_job_log lacks", table)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("look into table %s: %w", table, Error(err))
	}
	if _, err := admin.ExecContext(ctx, "DROP TABLE "+table); err != nil {
		return fmt.Errorf("drop the empty table %s: %w", table, Error(err))
	}
	return nil
}

// exchangeRefused are the ways to say that a table is not of the kind that a partition can become.
var exchangeRefused = map[uint16]bool{
	1731: true, // of another definition
	1732: true, // an option differs, such as columns that were added without writing rows
	1736: true, // the tables differ
	1797: true, // a row format
	4113: true, // MySQL: the exchange needs the same data directory
}

// JoinLog makes the log one table again. All of it is written anew, and the admins are stopped for it.
func (p *Pool) JoinLog(ctx context.Context, look time.Duration) error {
	if p.dialect != MySQL {
		return ErrEmbedded
	}
	list, err := p.LogPartitions(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return ErrNotPartitioned
	}
	if err := p.nobodyWrites(ctx, look); err != nil {
		return err
	}
	return p.underMigrationLock(ctx, func(admin *sql.DB) error {
		return alterLog(ctx, admin, "ALTER TABLE xxl_job_log REMOVE PARTITIONING", 0)
	})
}

// ExtendLog adds partitions so that there are empty ones ahead of the newest run. It returns how many; where the log is one table, none.
// It wraps [ErrLastPartition] when that would keep the log busy for long: then [Pool.ExtendStoppedLog] does it.
func (p *Pool) ExtendLog(ctx context.Context) (added int, err error) {
	return p.extendLog(ctx, maxMoved)
}

// ExtendStoppedLog is ExtendLog while all admins are stopped, as for [Pool.PartitionLog], however many rows it must copy.
func (p *Pool) ExtendStoppedLog(ctx context.Context, look time.Duration) (added int, err error) {
	if err := p.nobodyWrites(ctx, look); err != nil {
		return 0, err
	}
	return p.extendLog(ctx, math.MaxInt64)
}

func (p *Pool) extendLog(ctx context.Context, most int64) (added int, err error) {
	list, err := p.LogPartitions(ctx)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	top, err := New().MaxRunID(ctx, p)
	if err != nil {
		return 0, fmt.Errorf("read the newest run: %w", Error(err))
	}
	end := list[len(list)-1].From // of what has a bound
	width := list[len(list)-2].Below - list[len(list)-2].From
	for _, l := range list[:len(list)-1] { // the first one may have all that was there before
		width = min(width, l.Below-l.From)
	}
	need := roundUp(top+1, width) + logAhead*width
	if end >= need {
		return 0, nil
	}
	if moved := top - end + 1; moved > most {
		return 0, fmt.Errorf("%w: %d", ErrLastPartition, moved)
	}
	added = int((need - end + width - 1) / width)
	if len(list)+added > maxLogPartitions {
		return 0, fmt.Errorf("%w: there would be %d of %d runs", ErrNarrow, len(list)+added, width)
	}
	return added, p.changeLog(ctx, "ALTER TABLE xxl_job_log REORGANIZE PARTITION "+lastPartition+" INTO ("+partitionsFrom(end+width, width, added)+")")
}

// DropLogPartition takes a partition away with all that is in it. It gives up with a transient error when somebody reads the log for long.
func (p *Pool) DropLogPartition(ctx context.Context, name string) error {
	return p.changeLog(ctx, "ALTER TABLE xxl_job_log DROP PARTITION "+quoteName(name))
}

func partitionName(below int64) string { return fmt.Sprintf("p%d", below) }

// partitionsFrom are n partitions, the first one up to a bound, and the last one without.
func partitionsFrom(bound, width int64, n int) string {
	var b strings.Builder
	for i := range int64(n) {
		below := bound + i*width
		fmt.Fprintf(&b, "PARTITION %s VALUES LESS THAN (%d), ", partitionName(below), below)
	}
	return b.String() + "PARTITION " + lastPartition + " VALUES LESS THAN MAXVALUE"
}

// alterLog changes the table in a session that waits so many seconds for the statements that use it; 0: as the server is set.
func alterLog(ctx context.Context, admin *sql.DB, stmt string, wait int) error {
	conn, err := admin.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a session: %w", Error(err))
	}
	defer func() { _ = conn.Close() }()
	if wait > 0 {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", wait)); err != nil {
			return fmt.Errorf("set how long to wait for the log: %w", Error(err))
		}
	}
	if _, err := conn.ExecContext(ctx, stmt); err != nil {
		return fmt.Errorf("change the partitions of the log: %w", Error(err))
	}
	return nil
}

// changeLog is alterLog for changes beside the work, in a session of its own.
func (p *Pool) changeLog(ctx context.Context, stmt string) error {
	admin := p.admin()
	defer func() { _ = admin.Close() }()
	return alterLog(ctx, admin, stmt, lockSeconds)
}

// LogKeep is which runs of a partition keep it: [Pool.LogPartitionKept].
type LogKeep struct {
	Before time.Time           // wall clock: runs from then on
	Jobs   map[int64]time.Time // of these jobs, from then on; the zero time: all of them
}

// LogPartitionKept says whether something in a partition is to stay: a run that is not old enough, or one that has not ended. Each
// question goes to an index.
func (p *Pool) LogPartitionKept(ctx context.Context, l LogPartition, keep LogKeep) (bool, error) {
	from := " FROM xxl_job_log PARTITION (" + quoteName(l.Name) + ") WHERE "
	type question struct {
		where string
		args  []any
	}
	questions := []question{
		{"trigger_time >= ?", []any{keep.Before}},
		{"outcome = 0 AND handle_code = 0 AND trigger_code IN (0, 200)", nil},
	}
	for _, id := range slices.Sorted(maps.Keys(keep.Jobs)) {
		if at := keep.Jobs[id]; at.IsZero() {
			questions = append(questions, question{"job_id = ?", []any{id}})
		} else if at.Before(keep.Before) {
			questions = append(questions, question{"job_id = ? AND trigger_time >= ?", []any{id, at}})
		}
	}
	for _, q := range questions {
		var one int
		err := p.QueryRowContext(ctx, "SELECT 1"+from+q.where+" LIMIT 1", q.args...).Scan(&one)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return false, fmt.Errorf("look what stays of partition %s: %w", l.Name, Error(err))
		}
	}
	return false, nil
}
