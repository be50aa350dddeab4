package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// alterOnline changes a table in the way that holds writers up least, of those that the server has for this change: at once, then
// beside them. Only where there is none of these they wait, and it is said.
func (p *Pool) alterOnline(ctx context.Context, target *sql.DB, table, stmt string) error {
	for _, how := range []string{", ALGORITHM=INSTANT", ", ALGORITHM=INPLACE, LOCK=NONE"} {
		_, err := target.ExecContext(ctx, stmt+how)
		if !cannotOnline(err) {
			return err
		}
	}
	p.logger.Warn("the server cannot change this table while others write to it: they wait", "table", table)
	began := time.Now()
	_, err := target.ExecContext(ctx, stmt)
	p.logger.Info("the table is changed", "table", table, "took", time.Since(began))
	return err
}

// cannotOnline reports that the server has no such way for a change: ER_ALTER_OPERATION_NOT_SUPPORTED with and without a reason, and
// ER_UNKNOWN_ALTER_ALGORITHM of those that do not know the word.
func cannotOnline(err error) bool {
	n, _ := codes(err)
	return n == 1845 || n == 1846 || n == 1800
}

// findParam looks how long the parameter of a run may be: shorter than a job's where the log was adopted from XXL-JOB 3.3.2 or older.
func (p *Pool) findParam(ctx context.Context) error {
	if p.dialect != MySQL {
		return nil
	}
	var kind string
	var chars int64
	err := p.QueryRowContext(ctx, `SELECT data_type, COALESCE(character_maximum_length, 0) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name = 'xxl_job_log' AND column_name = 'executor_param'`).Scan(&kind, &chars)
	if err != nil {
		return fmt.Errorf("read the size of parameters: %w", Error(err))
	}
	if strings.EqualFold(kind, "varchar") {
		p.paramChars.Store(chars)
	}
	return nil
}

// FitsParam says whether the log has room for the parameter of a run, and how many characters it has room for; 0 where it has room
// for every parameter that a job may have.
func (p *Pool) FitsParam(param string) (chars int64, fits bool) {
	chars = p.paramChars.Load()
	return chars, chars == 0 || int64(utf8.RuneCountInString(param)) <= chars
}
