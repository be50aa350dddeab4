package db

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
)

// verify compares the columns that the migrations name with those that are there, after something was migrated. A table somebody
// changed by hand is then reported here, by its name, and not by a query at some later time.
func (p *Pool) verify(ctx context.Context, target *sql.DB) error {
	if p.dialect != MySQL {
		return nil
	}
	return verifyAs(ctx, target, "*.sql", false)
}

// verifyAs is verify for the columns that some of the migrations name; tables may be yet to come.
func verifyAs(ctx context.Context, target *sql.DB, files string, early bool) error {
	found, err := readSchema(ctx, target)
	if err != nil {
		return fmt.Errorf("verify schema: %w", err)
	}
	wanted, err := wantedColumns(files)
	if err != nil {
		return fmt.Errorf("verify schema: %w", err)
	}
	for name, columns := range wanted {
		if !strings.HasPrefix(name, "xxl_job_") {
			continue
		}
		t := found[name]
		if t == nil && early {
			continue
		}
		if t == nil {
			return fmt.Errorf("verify schema: table %s is missing", name)
		}
		for _, c := range columns {
			if !t.has(c) {
				return fmt.Errorf("verify schema: column %s.%s is missing", name, c)
			}
		}
	}
	return nil
}

// wantedColumns reads the migration files, which are written one column a line, so that the schema is stated once.
func wantedColumns(pattern string) (map[string][]string, error) {
	files, err := fs.Glob(migrationFiles, "migrations/mysql/"+pattern)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string][]string)
	for _, file := range files {
		content, err := migrationFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		table := ""
		for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
			words := strings.Fields(lines.Text())
			switch {
			case len(words) == 0, strings.HasPrefix(words[0], "--"):
			case strings.HasPrefix(lines.Text(), "CREATE TABLE IF NOT EXISTS "):
				table = words[5]
			case strings.HasPrefix(lines.Text(), "ALTER TABLE "):
				table = words[2]
			case !strings.HasPrefix(lines.Text(), " "):
				table = ""
			case table != "" && words[0] == "ADD" && words[1] == "COLUMN":
				wanted[table] = append(wanted[table], words[2])
			case table != "" && words[0] == strings.ToLower(words[0]):
				wanted[table] = append(wanted[table], words[0])
			}
		}
	}
	return wanted, nil
}
