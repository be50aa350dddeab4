package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Inspection is what a database says of itself, for whoever looks for the cause of trouble.
type Inspection struct {
	Lead           time.Duration     // by how much its clock is ahead of this machine's, as exactly as the way there and back allows
	Within         time.Duration     // which took so long
	Variables      map[string]string // of the server, by lower-case name; nil on SQLite
	MissingIndexes []string          // "table (columns)"
	TLS            TLS               // of the connection
}

// TLS is how safe the connection to a server is.
type TLS struct {
	Asked   string    // as the address has it: true, skip-verify, preferred; empty: not at all
	Version string    // that is spoken, such as TLSv1.3; empty: none
	Ends    time.Time // of the server's certificate; zero where it does not say so
}

// neededIndexes are those without which an admin reads whole tables: by table, the columns that one of its indexes begins with.
var neededIndexes = []struct{ table, columns string }{
	{"xxl_job_info", "trigger_status,trigger_next_time"},
	{"xxl_job_info", "job_group"},
	{"xxl_job_log", "trigger_time"},
	{"xxl_job_log", "handle_code"},
	{"xxl_job_log", "job_group"},
	{"xxl_job_log", "job_id"},
	{"xxl_job_logglue", "job_id"},
	{"punctual_session", "user_id"},
	{"punctual_slot", "job_id,running"},
	{"punctual_slot", "group_id,running"},
	{"punctual_run_hour", "hour_at"},
	{"punctual_schedule", "job_id"},
	{"punctual_alarm_delivery", "state,next_at"},
}

// inspected are the server's variables that matter here.
const inspected = "'log_bin','binlog_format','tx_isolation','transaction_isolation','max_allowed_packet','character_set_database','innodb_flush_log_at_trx_commit','sync_binlog','wait_timeout','read_only','innodb_lock_wait_timeout','max_connections','max_user_connections'"

// Inspect asks the database. It only reads.
func (p *Pool) Inspect(ctx context.Context) (i Inspection, err error) {
	indexes := `SELECT m.name, ii.name, x.name FROM sqlite_master AS m JOIN pragma_index_list(m.name) AS x JOIN pragma_index_info(x.name) AS ii
		WHERE m.type = 'table' ORDER BY m.name, x.name, ii.seqno`
	if p.dialect == MySQL {
		began := time.Now()
		now, err := p.Now(ctx)
		if err != nil {
			return i, err
		}
		i.Within = time.Since(began)
		i.Lead = now.Sub(began.Add(i.Within / 2))
		if i.Variables, err = p.variables(ctx); err != nil {
			return i, err
		}
		if i.TLS, err = p.tls(ctx); err != nil {
			return i, err
		}
		indexes = `SELECT LOWER(table_name), COALESCE(LOWER(column_name), ''), index_name FROM information_schema.statistics
			WHERE table_schema = DATABASE() ORDER BY table_name, index_name, seq_in_index`
	}
	there := make(map[string]string) // "table index" → "a,b"
	rows, err := p.QueryContext(ctx, indexes)
	if err != nil {
		return i, fmt.Errorf("read indexes: %w", Error(err))
	}
	err = scanAll(rows, func() error {
		var table, column, name string
		if err := rows.Scan(&table, &column, &name); err != nil {
			return err
		}
		there[table+" "+name] += column + ","
		return nil
	})
	if err != nil {
		return i, fmt.Errorf("read indexes: %w", Error(err))
	}
	for _, n := range neededIndexes {
		found := false
		for name, columns := range there {
			found = found || strings.HasPrefix(name, n.table+" ") && strings.HasPrefix(columns, n.columns+",")
		}
		if !found {
			i.MissingIndexes = append(i.MissingIndexes, n.table+" ("+n.columns+")")
		}
	}
	return i, nil
}

func (p *Pool) tls(ctx context.Context) (t TLS, err error) {
	rows, err := p.QueryContext(ctx, "SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_version','Ssl_server_not_after')")
	if err != nil {
		return t, fmt.Errorf("read how safe the connection is: %w", Error(err))
	}
	t.Asked = p.connector.tls
	return t, scanAll(rows, func() error {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		if strings.EqualFold(name, "Ssl_version") {
			t.Version = value
		} else if ends, err := time.Parse("Jan _2 15:04:05 2006 MST", value); err == nil {
			t.Ends = ends
		}
		return nil
	})
}

// ErrLogOfStatements means that the server refuses every change that Punctual makes in a transaction (MySQL's error 1665).
var ErrLogOfStatements = errors.New("the server writes its binary log as statements (binlog_format=STATEMENT), and so takes no change of a transaction that reads what is committed, as Punctual's do: have it write rows (binlog_format=ROW, or MIXED), and start Punctual anew")

// CheckLog reports [ErrLogOfStatements], before half of a migration is done.
func (p *Pool) CheckLog(ctx context.Context) error {
	if p.dialect != MySQL {
		return nil
	}
	rows, err := p.QueryContext(ctx, "SHOW VARIABLES WHERE Variable_name = 'log_bin' AND Value = 'ON' OR Variable_name = 'binlog_format' AND Value = 'STATEMENT'")
	if err != nil {
		return fmt.Errorf("read how the server writes its log: %w", Error(err))
	}
	n := 0
	if err := scanAll(rows, func() error { n++; return nil }); err != nil {
		return fmt.Errorf("read how the server writes its log: %w", Error(err))
	}
	if n == 2 {
		return ErrLogOfStatements
	}
	return nil
}

// variables are the server's own settings, not those of this program's sessions.
func (p *Pool) variables(ctx context.Context) (map[string]string, error) {
	rows, err := p.QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+inspected+")")
	if err != nil {
		return nil, fmt.Errorf("read the server's variables: %w", Error(err))
	}
	all := make(map[string]string)
	err = scanAll(rows, func() error {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		all[strings.ToLower(name)] = value
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the server's variables: %w", Error(err))
	}
	var charset string // of the database, which the global variable does not tell
	if err := p.QueryRowContext(ctx, "SELECT @@character_set_database").Scan(&charset); err != nil {
		return nil, fmt.Errorf("read the database's character set: %w", Error(err))
	}
	all["character_set_database"] = charset
	return all, nil
}
