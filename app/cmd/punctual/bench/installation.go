package bench

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// What a large installation looks like. Everything is made from one seed, so that two measurements find the same rows.
const (
	installationGroups  = 50
	installationUsers   = 20
	installationAudit   = 200_000
	installationScripts = 30 // versions of each script
	installationAlarms  = 20_000
	quietGroup          = installationGroups // its jobs run hardly ever: a page of its runs lies far apart
	executorsOfGroup    = 4
	rareText            = "zanzibar" // stands in one run of a million
)

var (
	places   = []string{"Shanghai", "Beijing", "Shenzhen", "Hamburg", "Nairobi", "Lima", "Osaka", "Austin", "华东", "华南"}
	subjects = []string{"payments", "invoices", "orders", "stock levels", "mailings", "exchange rates", "accounts", "deliveries", "订单", "账单", "库存"}
	deeds    = []string{"Reconcile", "Export", "Import", "Archive", "Refresh", "Send", "Check", "Rebuild", "Close", "对账", "汇总", "清理"}
	jobTags  = []string{"nightly", "finance", "critical", "gdpr", "eu", "cn", "legacy", "beta", "reporting", "mail"}
)

// installation fills an empty database with as many jobs and runs, and with what else people look at.
func installation(ctx context.Context, pool *db.Pool, jobs, runs int) error {
	random := rand.New(rand.NewPCG(1, 2))
	for _, fill := range []func(context.Context, *db.Pool, *rand.Rand) error{
		func(ctx context.Context, pool *db.Pool, random *rand.Rand) error {
			return addManyJobs(ctx, pool, random, jobs)
		},
		func(ctx context.Context, pool *db.Pool, random *rand.Rand) error {
			return addManyRuns(ctx, pool, random, jobs, runs)
		},
		addDays, addUsers, addAudit, addScripts, addDeliveries,
		addGroups, // the last: by them a filled database is known
	} {
		if err := fill(ctx, pool, random); err != nil {
			return err
		}
	}
	if pool.Dialect() == db.SQLite {
		return nil
	}
	// A server in use has looked at its tables; a new one would decide by what it saw while they were filled.
	rows, err := pool.QueryContext(ctx, "ANALYZE TABLE xxl_job_info, xxl_job_log, xxl_job_logglue, punctual_audit, punctual_alarm_delivery")
	if err != nil {
		return err
	}
	return rows.Close()
}

// address is one of a group's executors, where nobody listens.
func address(group, n int) string { return fmt.Sprintf("http://127.0.%d.%d:9/", group, n+1) }

func addGroups(ctx context.Context, pool *db.Pool, _ *rand.Rand) error {
	return insert(ctx, pool, "xxl_job_group (id, app_name, title, address_type, address_list, update_time)", installationGroups, func(i int) []any {
		var list []string
		for n := range executorsOfGroup {
			list = append(list, address(i+1, n))
		}
		return []any{i + 1, fmt.Sprintf("%s-service-%d", strings.ReplaceAll(subjects[i%8], " ", "-"), i+1), fmt.Sprintf("%s %s", places[i%len(places)], subjects[i%len(subjects)]), 1, strings.Join(list, ","), pool.Wall(time.Now())}
	})
}

// groupOf spreads jobs unevenly: the first groups are the large ones, and the quiet one has a few.
func groupOf(job int) int {
	switch {
	case job%1000 == 0:
		return quietGroup
	case job%3 == 0:
		return 1 + job%5
	default:
		return 1 + job%(installationGroups-1)
	}
}

func addManyJobs(ctx context.Context, pool *db.Pool, random *rand.Rand, n int) error {
	now := time.Now()
	return insert(ctx, pool, `xxl_job_info (id, job_group, job_desc, add_time, update_time, author, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy,
 executor_handler, executor_param, executor_block_strategy, glue_type, glue_source, glue_updatetime, child_jobid, tags, trigger_status, trigger_next_time)`, n, func(i int) []any {
		job := i + 1
		at := random.IntN(24 * 60)
		conf, next := fmt.Sprintf("0 %d %d * * ?", at%60, at/60), now.Truncate(24*time.Hour).Add(time.Duration(at)*time.Minute)
		if job%20 == 0 {
			conf, next = fmt.Sprintf("0 %d/15 * * * ?", at%15), now.Truncate(time.Hour).Add(time.Hour+time.Duration(at%15)*time.Minute)
		}
		started, nextMs := 1, next.UnixMilli()
		if job%5 == 0 && job%20 != 0 {
			started, nextMs = 0, 0
		}
		glue, source, tags, child := "BEAN", "", "", ""
		if job%50 == 0 {
			glue, source = "GLUE_SHELL", "#!/bin/sh\nset -e\n"+strings.Repeat("echo working through another line\n", 60)
		}
		if job%4 == 0 {
			tags = jobTags[job%len(jobTags)]
			if job%8 == 0 {
				tags += "," + jobTags[(job/8)%len(jobTags)]
			}
		}
		if job%100 == 7 {
			child = fmt.Sprint(job + 1)
		}
		wall := pool.Wall(now.Add(-time.Duration(n-i) * time.Minute))
		return []any{job, groupOf(job), fmt.Sprintf("%s %s %s %d", deeds[random.IntN(len(deeds))], subjects[random.IntN(len(subjects))], places[random.IntN(len(places))], job), wall, wall,
			fmt.Sprintf("author%d", random.IntN(40)), "CRON", conf, "DO_NOTHING", "ROUND", fmt.Sprintf("handler%dJob", random.IntN(300)), fmt.Sprintf("region=%s;size=%d", places[job%8], job),
			"SERIAL_EXECUTION", glue, source, wall, child, tags, started, nextMs}
	})
}

// addManyRuns writes n runs of the last 30 days, ids rising with the time, up to a minute ago. One job in a hundred has half
// of them. 96 % succeeded; the rest failed in every way, and failures come in clusters, as they do.
func addManyRuns(ctx context.Context, pool *db.Pool, random *rand.Rand, jobs, n int) error {
	const rows, shapes, statements = 500, 40, 40
	const columns = `INSERT INTO xxl_job_log (job_group, job_id, executor_address, executor_handler, executor_param, trigger_time, trigger_code, trigger_msg,
 handle_time, handle_code, handle_msg, alarm_status, planned_at, owner_node, trigger_type, sent_at, finished_at) VALUES `
	var statement [shapes]string
	for s := range statement {
		var q strings.Builder
		q.WriteString(columns)
		for i := range rows {
			if i > 0 {
				q.WriteByte(',')
			}
			q.WriteString(runShape(random, s))
		}
		statement[s] = q.String()
	}
	first := time.Now().Add(-bigDays * 24 * time.Hour)
	args := make([]any, 0, 8*rows)
	for done := 0; done < n; {
		end := min(done+rows*statements, n)
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			for at := done; at < end; at += rows {
				args = args[:0]
				for i := range rows {
					planned := first.Add(time.Duration(float64(bigDays*24*time.Hour-time.Minute) * float64(at+i) / float64(n)))
					job := 1 + random.IntN(jobs)
					if i%2 == 0 {
						job = job/100*100 + 1 // the busy ones
					}
					if group := groupOf(job); group == quietGroup && at%(20*rows) != 0 {
						job++ // of the quiet group's
					}
					wall, ms := pool.Wall(planned), planned.UnixMilli()
					args = append(args, groupOf(job), job, wall, wall, ms, ms+3, ms+200)
				}
				if _, err := tx.ExecContext(ctx, statement[at/rows%shapes], args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("write runs: %w", err)
		}
		done = end
	}
	_, err := pool.ExecContext(ctx, "UPDATE xxl_job_log SET trigger_msg = CONCAT(trigger_msg, ?), executor_address = ? WHERE id = ?", "\nnote: "+rareText, "http://10.9.9.9:9999/", n/3+1)
	return err
}

// runShape is a run as a row of an INSERT, but for its job and its times.
func runShape(random *rand.Rand, statement int) string {
	executor := address(1+random.IntN(installationGroups), random.IntN(executorsOfGroup))
	message := "trigger type: CRON\\nadmin: bench\\nplanned: 2026-01-01 00:00:00.000 +0000\\nroute: ROUND\\naddresses: http://10.0.0.1:9999/, http://10.0.0.2:9999/, http://10.0.0.3:9999/\\nblock strategy: SERIAL_EXECUTION\\ntime-out: none\\nresult: accepted by " + executor
	kind, code, result, said := "CRON", 200, 200, ""
	switch n := random.IntN(100); {
	case n < 3:
		kind = "RETRY"
	case n < 5:
		kind = "API"
	case n < 7:
		kind = "PARENT"
	}
	if random.IntN(2000) == 0 {
		kind = "MANUAL"
	}
	if bad := random.IntN(1000); statement%8 == 7 && bad < 250 || bad < 10 {
		switch random.IntN(6) {
		case 0:
			result, said = 502, "the run took longer than its 60 s"
		case 1: // nobody took it
			code, result, executor = 500, 0, ""
			message = strings.Replace(message, "result: accepted by ", "result: refused by ", 1)
		default:
			result, said = 500, "java.lang.IllegalStateException: the upstream answered 503 for batch 17\\n\\tat com.example.jobs.Reconcile.run(Reconcile.java:117)"
		}
	}
	text := func(s string) string { return strings.ReplaceAll(s, "\\n", "\n") }
	return fmt.Sprintf("(?,?,'%s','noop','region=%s',?,%d,'%s',?,%d,'%s',0,?,1,'%s',?,?)", executor, places[random.IntN(8)], code, text(message), result, text(said), kind)
}

// addDays writes the report of the days.
func addDays(ctx context.Context, pool *db.Pool, _ *rand.Rand) error {
	today := pool.Wall(time.Now()).Truncate(24 * time.Hour)
	return insert(ctx, pool, "xxl_job_log_report (trigger_day, running_count, suc_count, fail_count, update_time)", bigDays+1, func(i int) []any {
		return []any{today.AddDate(0, 0, -i), 0, 160_000, 6_000, today}
	})
}

// addUsers makes an administrator, and users who cannot log in; the other who does is made over HTTP.
func addUsers(ctx context.Context, pool *db.Pool, _ *rand.Rand) error {
	hash, err := auth.NewPasswords(1).Hash(ctx, pagePassword)
	if err != nil {
		return err
	}
	if _, err := db.New().InsertUser(ctx, pool, db.InsertUserParams{Username: "admin", Password: hash, Role: auth.RoleAdmin}); err != nil {
		return err
	}
	return insert(ctx, pool, "xxl_job_user (username, password, role, permission)", installationUsers, func(i int) []any {
		return []any{fmt.Sprintf("operator%02d", i+1), "-", 0, fmt.Sprintf("%d,%d", 1+i%installationGroups, 1+(i+7)%installationGroups)}
	})
}

func addAudit(ctx context.Context, pool *db.Pool, random *rand.Rand) error {
	first := time.Now().AddDate(0, -6, 0)
	actions := []string{"update", "update", "update", "run", "run", "run", "start", "stop", "login", "create", "delete", "glue"}
	return insert(ctx, pool, "punctual_audit (made_at, user_id, user_name, address, action, object_kind, object_id, object_name, before_json, after_json)", installationAudit, func(i int) []any {
		user, job := 1+random.IntN(installationUsers), 1+random.IntN(100_000)
		return []any{first.Add(time.Since(first) * time.Duration(i) / installationAudit).UnixMilli(), user, fmt.Sprintf("operator%02d", user), "10.1.2.3", actions[random.IntN(len(actions))], "job", job,
			fmt.Sprintf("%s %s %d", deeds[random.IntN(len(deeds))], subjects[random.IntN(len(subjects))], job), `{"schedule_conf":"0 0 2 * * ?","author":"ann"}`, `{"schedule_conf":"0 0 3 * * ?","author":"bob"}`}
	})
}

// addScripts gives each of 2,000 scripts its versions.
func addScripts(ctx context.Context, pool *db.Pool, _ *rand.Rand) error {
	source := "#!/bin/sh\n" + strings.Repeat("echo working through another line\n", 60)
	at := pool.Wall(time.Now())
	return insert(ctx, pool, "xxl_job_logglue (job_id, glue_type, glue_source, glue_remark, add_time, update_time)", 2000*installationScripts, func(i int) []any {
		return []any{50 * (1 + i%2000), "GLUE_SHELL", fmt.Sprintf("%s# %d\n", source, i), "another version", at, at}
	})
}

func addDeliveries(ctx context.Context, pool *db.Pool, random *rand.Rand) error {
	now := time.Now()
	err := insert(ctx, pool, "punctual_alarm_channel (id, name, kind, config, lang, enabled, updated_at)", 3, func(i int) []any {
		return []any{i + 1, fmt.Sprintf("on call %d", i+1), "webhook", "", "en", 0, now.UnixMilli()}
	})
	if err != nil {
		return err
	}
	err = insert(ctx, pool, "punctual_alarm_notice (id, job_id, job_group, cause, event_count, log_id, first_at, last_at, detail, state)", installationAlarms, func(i int) []any {
		at := now.Add(-time.Duration(installationAlarms-i) * 2 * time.Minute).UnixMilli()
		job := 1 + random.IntN(100_000)
		return []any{i + 1, job, groupOf(job), "failed", 1, 1 + i, at, at, "", 2}
	})
	if err != nil {
		return err
	}
	return insert(ctx, pool, "punctual_alarm_delivery (notice_id, channel_id, state, tries, error, created_at, done_at)", installationAlarms, func(i int) []any {
		at := now.Add(-time.Duration(installationAlarms-i) * 2 * time.Minute).UnixMilli()
		state, said := 2, ""
		if i%200 == 0 {
			state, said = 3, "connection refused"
		}
		return []any{i + 1, 1 + i%3, state, 1, said, at, at + 200}
	})
}

// insert writes n rows, hundreds in a statement and thousands in a transaction.
func insert(ctx context.Context, pool *db.Pool, into string, n int, row func(i int) []any) error {
	const rows, statements = 250, 20
	columns := 1 + strings.Count(into, ",")
	one := "(?" + strings.Repeat(",?", columns-1) + ")"
	for done := 0; done < n; {
		end := min(done+rows*statements, n)
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			for at := done; at < end; at += rows {
				k := min(rows, end-at)
				args := make([]any, 0, k*columns)
				for i := range k {
					args = append(args, row(at+i)...)
				}
				if _, err := tx.ExecContext(ctx, "INSERT INTO "+into+" VALUES "+one+strings.Repeat(","+one, k-1), args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("fill %s: %w", strings.Fields(into)[0], err)
		}
		done = end
	}
	return nil
}

// postpone lets nothing be due while the pages are measured.
func postpone(ctx context.Context, pool *db.Pool) error {
	const day = 86_400_000
	soon := time.Now().Add(15 * time.Minute).UnixMilli()
	for {
		r, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_next_time = trigger_next_time + ? WHERE trigger_status = 1 AND trigger_next_time < ?", day, soon)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return err
		}
	}
}
