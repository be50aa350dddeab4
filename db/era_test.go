package db_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

// era is what one XXL-JOB release's database looks like, as far as releases differ.
type era struct {
	name        string
	jobCron     bool // 2.2: job_cron, no update times
	title       int
	param       string
	registryID  string
	registryKey string
	password    int
	token       bool
	runIndexes  []string
	renamed     bool // 3.5
}

var (
	oldRunIndexes = []string{"KEY I_trigger_time (trigger_time)", "KEY I_handle_code (handle_code)"}
	midRunIndexes = append(oldRunIndexes[:2:2], "KEY I_jobid_jobgroup (job_id, job_group)", "KEY I_job_id (job_id)")
	newRunIndexes = append(oldRunIndexes[:2:2], "KEY I_jobgroup (job_group)", "KEY I_jobid (job_id)")
)

// eras are the releases at which the schema changed. "upgraded" is one that was brought to 3.4 by hand and lacks
// what the releases forgot to publish.
var eras = []era{
	{name: "2.2.0", jobCron: true, title: 12, param: "varchar(512)", registryID: "int(11)", registryKey: "KEY", password: 50, runIndexes: oldRunIndexes},
	{name: "2.3.0", title: 12, param: "varchar(512)", registryID: "int(11)", registryKey: "KEY", password: 50, runIndexes: oldRunIndexes},
	{name: "2.4.2", title: 12, param: "varchar(512)", registryID: "int(11)", registryKey: "KEY", password: 50, runIndexes: oldRunIndexes},
	{name: "2.5.0", title: 12, param: "varchar(512)", registryID: "int(11)", registryKey: "UNIQUE KEY", password: 50, runIndexes: midRunIndexes},
	{name: "3.2.0", title: 12, param: "varchar(512)", registryID: "int(11)", registryKey: "UNIQUE KEY", password: 100, token: true, runIndexes: midRunIndexes},
	{name: "3.3.2", title: 12, param: "varchar(512)", registryID: "int(11)", registryKey: "UNIQUE KEY", password: 100, token: true, runIndexes: midRunIndexes},
	{name: "3.4.2", title: 64, param: "text", registryID: "bigint(20)", registryKey: "UNIQUE KEY", password: 100, token: true, runIndexes: newRunIndexes},
	{name: "3.5", title: 64, param: "text", registryID: "bigint(20)", registryKey: "UNIQUE KEY", password: 100, token: true, runIndexes: newRunIndexes, renamed: true},
	{name: "upgraded", title: 64, param: "text", registryID: "int(11)", registryKey: "KEY", password: 100, token: true, runIndexes: nil},
}

// create makes the era's tables.
func (e era) create(t testing.TB, pool *sql.DB) {
	t.Helper()
	e.createIn(t, pool, func(string) string { return "utf8mb4_unicode_ci" })
}

// createIn makes them with a collation for each table. XXL-JOB's script names none: its tables have the server's, whatever the database has.
func (e era) createIn(t testing.TB, pool *sql.DB, collation func(table string) string) {
	t.Helper()
	title, desc := "title varchar(@) NOT NULL", "job_desc varchar(255) NOT NULL"
	if e.renamed {
		title, desc = "name varchar(64) NOT NULL COMMENT '执行器名称'", "name varchar(255) NOT NULL"
	}
	updated := "update_time datetime DEFAULT NULL,"
	schedule := `schedule_type varchar(50) NOT NULL DEFAULT 'NONE', schedule_conf varchar(128) DEFAULT NULL,
		misfire_strategy varchar(50) NOT NULL DEFAULT 'DO_NOTHING',`
	addresses := "text"
	if e.jobCron {
		updated, schedule, addresses = "", "job_cron varchar(128) NOT NULL,", "varchar(512)"
	}
	groupKeys := ""
	if e.renamed {
		addresses, groupKeys = "text, access_token varchar(255) DEFAULT NULL", ", UNIQUE KEY i_app_name (app_name)"
	}
	token := ""
	if e.token {
		token = "token varchar(100) DEFAULT NULL,"
	}
	runKeys := strings.Join(append([]string{"PRIMARY KEY (id)"}, e.runIndexes...), ", ")
	for _, table := range []string{
		`xxl_job_group (id int(11) NOT NULL AUTO_INCREMENT, app_name varchar(64) NOT NULL, ` + strings.Replace(title, "@", itoa(e.title), 1) + `,
			address_type tinyint(4) NOT NULL DEFAULT 0, address_list ` + addresses + `, ` + updated + ` PRIMARY KEY (id)` + groupKeys + `)`,
		`xxl_job_registry (id ` + e.registryID + ` NOT NULL AUTO_INCREMENT, registry_group varchar(50) NOT NULL, registry_key varchar(255) NOT NULL,
			registry_value varchar(255) NOT NULL, update_time datetime DEFAULT NULL, PRIMARY KEY (id),
			` + e.registryKey + ` i_g_k_v (registry_group, registry_key, registry_value))`,
		`xxl_job_info (id int(11) NOT NULL AUTO_INCREMENT, job_group int(11) NOT NULL, ` + desc + `, add_time datetime DEFAULT NULL,
			update_time datetime DEFAULT NULL, author varchar(64) DEFAULT NULL, alarm_email varchar(255) DEFAULT NULL, ` + schedule + `
			executor_route_strategy varchar(50) DEFAULT NULL, executor_handler varchar(255) DEFAULT NULL,
			executor_param ` + e.param + ` DEFAULT NULL COMMENT 'it''s a \\ comment', executor_block_strategy varchar(50) DEFAULT NULL,
			executor_timeout int(11) NOT NULL DEFAULT 0, executor_fail_retry_count int(11) NOT NULL DEFAULT 0,
			glue_type varchar(50) NOT NULL, glue_source mediumtext, glue_remark varchar(128) DEFAULT NULL, glue_updatetime datetime DEFAULT NULL,
			child_jobid varchar(255) DEFAULT NULL, trigger_status tinyint(4) NOT NULL DEFAULT 0,
			trigger_last_time bigint(13) NOT NULL DEFAULT 0, trigger_next_time bigint(13) NOT NULL DEFAULT 0, PRIMARY KEY (id))`,
		`xxl_job_log (id bigint(20) NOT NULL AUTO_INCREMENT, job_group int(11) NOT NULL, job_id int(11) NOT NULL,
			executor_address varchar(255) DEFAULT NULL, executor_handler varchar(255) DEFAULT NULL, executor_param ` + e.param + ` DEFAULT NULL,
			executor_sharding_param varchar(20) DEFAULT NULL, executor_fail_retry_count int(11) NOT NULL DEFAULT 0,
			trigger_time datetime DEFAULT NULL, trigger_code int(11) NOT NULL, trigger_msg text, handle_time datetime DEFAULT NULL,
			handle_code int(11) NOT NULL, handle_msg text, alarm_status tinyint(4) NOT NULL DEFAULT 0, ` + runKeys + `)`,
		`xxl_job_log_report (id int(11) NOT NULL AUTO_INCREMENT, trigger_day datetime DEFAULT NULL, running_count int(11) NOT NULL DEFAULT 0,
			suc_count int(11) NOT NULL DEFAULT 0, fail_count int(11) NOT NULL DEFAULT 0, ` + updated + `
			PRIMARY KEY (id), UNIQUE KEY i_trigger_day (trigger_day))`,
		`xxl_job_logglue (id int(11) NOT NULL AUTO_INCREMENT, job_id int(11) NOT NULL, glue_type varchar(50) DEFAULT NULL, glue_source mediumtext,
			glue_remark varchar(128) NOT NULL, add_time datetime DEFAULT NULL, update_time datetime DEFAULT NULL, PRIMARY KEY (id))`,
		`xxl_job_user (id int(11) NOT NULL AUTO_INCREMENT, username varchar(50) NOT NULL, password varchar(` + itoa(e.password) + `) NOT NULL, ` + token + `
			role tinyint(4) NOT NULL, permission varchar(255) DEFAULT NULL, PRIMARY KEY (id), UNIQUE KEY i_username (username))`,
		`xxl_job_lock (lock_name varchar(50) NOT NULL, PRIMARY KEY (lock_name))`,
	} {
		name, _, _ := strings.Cut(table, " ")
		mustExec(t, pool, "CREATE TABLE "+table+" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE="+collation(name))
	}
}

// fill inserts what a real database holds: Chinese text, NULLs, old hashes, duplicates where the era allows them.
func (e era) fill(t testing.TB, pool *sql.DB) {
	t.Helper()
	mustExec(t, pool, "INSERT INTO xxl_job_lock (lock_name) VALUES ('schedule_lock')")
	title, desc := "title", "job_desc"
	if e.renamed {
		title, desc = "name", "name"
	}
	mustExec(t, pool, "INSERT INTO xxl_job_group (id, app_name, "+title+", address_type, address_list) VALUES "+
		"(1, 'xxl-job-executor-sample', '示例执行器', 0, NULL), (7, 'order', '订单', 1, 'http://10.0.0.1:9999,http://10.0.0.2:9999')")
	mustExec(t, pool, "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "+
		"('EXECUTOR', 'order', 'http://10.0.0.1:9999/', '2024-02-29 23:59:58'), ('EXECUTOR', 'order', 'http://10.0.0.2:9999/', NULL)")
	if e.registryKey == "KEY" {
		mustExec(t, pool, "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "+
			"('EXECUTOR', 'order', 'http://10.0.0.1:9999/', '2024-03-01 00:00:28'), ('EXECUTOR', 'ORDER', 'http://10.0.0.2:9999/', '2024-03-01 00:00:29')")
	}
	cron, values := "schedule_type, schedule_conf, misfire_strategy", "'FIX_RATE', '30', 'FIRE_ONCE_NOW'"
	if e.jobCron {
		cron, values = "job_cron", "'0 0 2 * * ?'"
	}
	mustExec(t, pool, "INSERT INTO xxl_job_info (id, job_group, "+desc+", add_time, author, alarm_email, "+cron+
		", executor_route_strategy, executor_handler, executor_param, executor_block_strategy, glue_type, glue_source, glue_remark, trigger_status, "+
		"trigger_last_time, trigger_next_time) VALUES (1, 7, '测试任务一', '2020-01-02 03:04:05', '许', NULL, "+values+
		", 'CONSISTENT_HASH', 'demoJobHandler', '{\"键\":\"值\"}', 'SERIAL_EXECUTION', 'GLUE_SHELL', '#!/bin/bash\necho \\'好\\'\n', 'GLUE代码初始化', 1, 1700000000000, 1700000030000), "+
		"(9, 1, 'b', NULL, NULL, NULL, "+values+", NULL, NULL, NULL, NULL, 'BEAN', NULL, NULL, 0, 0, 0)")
	mustExec(t, pool, "UPDATE xxl_job_info SET executor_fail_retry_count = 2 WHERE id = 1")
	mustExec(t, pool, "INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, executor_param, trigger_time, trigger_code, trigger_msg, "+
		"handle_time, handle_code, handle_msg, alarm_status) VALUES (41, 7, 1, 'http://10.0.0.1:9999/', '参', '2024-02-29 12:00:00', 200, '任务触发类型：Cron触发<br>', "+
		"'2024-02-29 12:00:01', 200, NULL, 0), (42, 7, 1, NULL, NULL, NULL, 500, NULL, NULL, 0, NULL, 2)")
	mustExec(t, pool, "INSERT INTO xxl_job_log_report (trigger_day, running_count, suc_count, fail_count) VALUES ('2024-02-29 00:00:00', 1, 2, 3)")
	mustExec(t, pool, "INSERT INTO xxl_job_logglue (job_id, glue_type, glue_source, glue_remark, add_time) VALUES (1, 'GLUE_SHELL', 'echo 旧', '旧版', '2023-01-01 00:00:00')")
	mustExec(t, pool, "INSERT INTO xxl_job_user (username, password, role, permission) VALUES ('admin', 'e10adc3949ba59abbe56e057f20f883e', 1, NULL), ('张三', 'x', 0, '1,7')")
}

// oldStatements are what the era's own admin goes on doing while ours runs beside it, or after a roll-back.
func (e era) oldStatements() []string {
	if e.renamed {
		return nil // its admin needs the names back, see TestHandBack
	}
	title := "(app_name, title, address_type, address_list, update_time) VALUES ('new', '新执行器', 0, NULL, NOW())"
	if e.jobCron {
		title = "(app_name, title, address_type, address_list) VALUES ('new', '新执行器', 0, NULL)"
	}
	statements := []string{
		"INSERT INTO xxl_job_group " + title,
		"INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (7, 1, NOW(), 0, 0)",
		"UPDATE xxl_job_log SET trigger_time = NOW(), trigger_code = 200, trigger_msg = '成功', executor_address = 'http://10.0.0.1:9999/' WHERE id = 41",
		"INSERT INTO xxl_job_logglue (job_id, glue_type, glue_source, glue_remark, add_time, update_time) VALUES (1, 'GLUE_SHELL', '源', '备注', NOW(), NOW())",
		"INSERT INTO xxl_job_user (username, password, role, permission) VALUES ('李四', 'e10adc3949ba59abbe56e057f20f883e', 0, '')",
		"INSERT INTO xxl_job_log_report (trigger_day, running_count, suc_count, fail_count) VALUES ('2024-03-01 00:00:00', 0, 0, 0)",
		"INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES ('EXECUTOR', 'new', 'http://10.0.0.9:9999/', NOW()) " +
			"ON DUPLICATE KEY UPDATE update_time = NOW()",
		"UPDATE xxl_job_registry SET update_time = NOW() WHERE registry_group = 'EXECUTOR' AND registry_key = 'order' AND registry_value = 'http://10.0.0.1:9999/'",
		"SELECT * FROM xxl_job_lock WHERE lock_name = 'schedule_lock' FOR UPDATE",
	}
	if !e.jobCron {
		statements = append(statements, "INSERT INTO xxl_job_info (job_group, job_desc, add_time, update_time, author, alarm_email, schedule_type, schedule_conf, "+
			"misfire_strategy, executor_route_strategy, executor_handler, executor_param, executor_block_strategy, executor_timeout, executor_fail_retry_count, "+
			"glue_type, glue_source, glue_remark, glue_updatetime, child_jobid, trigger_status, trigger_last_time, trigger_next_time) "+
			"VALUES (1, '新任务', NOW(), NOW(), 'a', '', 'CRON', '0 0 0 * * ? *', 'DO_NOTHING', 'FIRST', 'h', '', 'SERIAL_EXECUTION', 0, 0, 'BEAN', '', '', NOW(), '', 0, 0, 0)")
	}
	return statements
}

func mustExec(t testing.TB, pool *sql.DB, statement string) {
	t.Helper()
	if _, err := pool.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatalf("%.120s…: %v", statement, err)
	}
}
