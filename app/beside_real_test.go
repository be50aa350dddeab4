package app

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestBesideRealAdmin moves a group there and back beside a real XXL-JOB admin, whose jar the environment names: each fire is run once.
// PUNCTUAL_TEST_XXL_JOB_ROUNDS says how often, 8 times unless told; a round takes 18 s.
func TestBesideRealAdmin(t *testing.T) {
	t.Parallel()
	jar := os.Getenv("PUNCTUAL_TEST_XXL_JOB")
	if jar == "" {
		t.Skip("PUNCTUAL_TEST_XXL_JOB names no jar of an XXL-JOB admin of 2.3.0 to 3.4.2")
	}
	rounds := 8
	if text := os.Getenv("PUNCTUAL_TEST_XXL_JOB_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("PUNCTUAL_TEST_XXL_JOB_ROUNDS: %v", err)
		}
	}
	o := testOptions(t)
	o.DatabaseURL, o.DataDir = dbtest.Migrated(t), t.TempDir()
	pool := dbtest.Open(t, db.Config{URL: o.DatabaseURL})
	exec := func(format string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO punctual_adoption (id, release_line, adopted_at) VALUES (1, '3.4', 1)")
	exec("INSERT INTO xxl_job_group (id, app_name, title, address_type, update_time) VALUES (1, 'orders', 'orders', 0, NOW())")
	job := 0
	for _, every := range []int{5, 10, 15, 30} {
		for offset := range every {
			job++
			exec("INSERT INTO xxl_job_info (id, job_group, job_desc, author, alarm_email, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy, executor_handler, executor_param, "+
				"executor_block_strategy, executor_timeout, executor_fail_retry_count, glue_type, glue_source, glue_remark, glue_updatetime, child_jobid, trigger_status, trigger_next_time) "+
				"VALUES (%d, 1, 'every %d', 'x', '', 'CRON', '%d/%[2]d * * * * ?', 'DO_NOTHING', 'FIRST', 'work', '', 'SERIAL_EXECUTION', 0, 0, 'BEAN', '', '', NOW(), '', 1, (UNIX_TIMESTAMP() + 5) * 1000)", job, every, offset)
		}
	}
	if _, err := BeginBeside(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	a := start(t, o)
	old := startOld(t, jar, o)
	runWorker(t, o, old, a.Welcome().URL)
	for range 60 { // until the old admin's runs succeed
		if n := countRows(t, pool, "handle_code = 200 AND planned_at = 0"); n > 10 {
			break
		}
		time.Sleep(time.Second)
	}
	began := time.Now().Add(2 * time.Second)
	for range rounds {
		for _, back := range []bool{false, true} {
			if _, _, err := HandOver(t.Context(), o, []string{"orders"}, false, back); err != nil {
				t.Fatalf("hand over, back %v: %v", back, err)
			}
			stays := 4 * time.Second
			if back {
				stays = 14 * time.Second
			}
			time.Sleep(stays)
		}
	}
	ended := time.Now().Add(-10 * time.Second)
	checkFires(t, pool, began, ended)
}

// countRows counts runs.
func countRows(t *testing.T, pool *db.Pool, where string) (n int) {
	t.Helper()
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// checkFires finds one run for each fire between two moments. The old admin's rows have the second in which they were made.
func checkFires(t *testing.T, pool *db.Pool, began, ended time.Time) {
	t.Helper()
	type fire struct{ job, at int64 }
	periods := make(map[int64][2]int64)
	rows, err := pool.QueryContext(t.Context(), "SELECT id, CAST(SUBSTRING_INDEX(schedule_conf, '/', 1) AS SIGNED), CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(schedule_conf, ' ', 1), '/', -1) AS SIGNED) FROM xxl_job_info")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, offset, every int64
		if err := rows.Scan(&id, &offset, &every); err != nil {
			t.Fatal(err)
		}
		periods[id] = [2]int64{offset, every}
	}
	runs := make(map[fire]int)
	ours := 0
	made, err := pool.QueryContext(t.Context(), "SELECT job_id, trigger_time, planned_at FROM xxl_job_log")
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	for made.Next() {
		var id, planned int64
		var at time.Time
		if err := made.Scan(&id, &at, &planned); err != nil {
			t.Fatal(err)
		}
		second := pool.FromWall(at).Unix()
		if planned > 0 {
			second = planned / 1000
			ours++
		}
		offset, every := periods[id][0], periods[id][1]
		runs[fire{id, second - (second%60-offset+60)%every}]++
	}
	if err := made.Err(); err != nil {
		t.Fatal(err)
	}
	total, lost, doubled := 0, 0, 0
	for id, p := range periods {
		for at := began.Unix(); at < ended.Unix(); at++ {
			if at%60%p[1] != p[0] {
				continue
			}
			total++
			switch n := runs[fire{id, at}]; {
			case n == 0:
				lost++
			case n > 1:
				doubled++
			}
		}
	}
	t.Logf("%d fires, %d runs of Punctual: %d lost, %d doubled", total, ours, lost, doubled)
	if lost+doubled > 0 || ours == 0 || ours >= total {
		t.Errorf("%d fires, %d runs of Punctual: %d lost, %d doubled", total, ours, lost, doubled)
	}
}

// startOld starts the old admin on the test's database, and gives its address.
func startOld(t *testing.T, jar string, o Options) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(o.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	at := cfg.Addr
	if cfg.Net == "unix" { // which Java does not know
		at = dbtest.NewProxy(t, cfg.Net, cfg.Addr).Addr()
	}
	port := executortest.FreePort(t)
	var out bytes.Buffer
	// The zone is that of dbtest.Zone.
	java := exec.CommandContext(t.Context(), "java", "-Xmx350m", "-Duser.timezone=GMT+8", "-jar", jar, "--server.port="+port, "--server.servlet.context-path=/xxl-job-admin",
		"--xxl.job.i18n=en", "--xxl.job.accessToken="+o.AccessToken, "--logging.file.name="+t.TempDir()+"/old.log",
		fmt.Sprintf("--spring.datasource.url=jdbc:mysql://%s/%s?serverTimezone=GMT%%2B8&useSSL=false&allowPublicKeyRetrieval=true", at, cfg.DBName),
		"--spring.datasource.username="+cfg.User, "--spring.datasource.password="+cfg.Passwd)
	java.Stdout, java.Stderr = &out, &out
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = java.Process.Kill()
		_ = java.Wait()
		if t.Failed() {
			t.Logf("%.4000s", out.String())
		}
	})
	url := "http://127.0.0.1:" + port + "/xxl-job-admin"
	for range 120 {
		if res, err := http.Get(url + "/"); err == nil {
			res.Body.Close()
			return url
		}
		time.Sleep(time.Second)
	}
	t.Fatal("the old admin does not answer")
	return ""
}

// runWorker runs an executor that registers with both admins.
func runWorker(t *testing.T, o Options, admins ...string) {
	t.Helper()
	ex, err := executor.New(executor.Config{AppName: "orders", Admins: admins, DataDir: t.TempDir(), Token: o.AccessToken, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ex.Handle("work", func(context.Context, *executor.Run) error { return nil })
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var run sync.WaitGroup
	run.Go(func() { _ = ex.Run(ctx) })
	t.Cleanup(func() {
		stop()
		run.Wait()
	})
}
