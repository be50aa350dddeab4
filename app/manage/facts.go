package manage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// jobFacts describe a job's definition for the audit log, by the names of its columns.
func jobFacts(j db.Job) Facts {
	return Facts{
		"job_group": j.JobGroup, "job_desc": j.JobDesc, "author": string(j.Author), "alarm_email": string(j.AlarmEmail),
		"schedule_type": string(j.ScheduleType), "schedule_conf": string(j.ScheduleConf), "misfire_strategy": string(j.MisfireStrategy),
		"executor_route_strategy": string(j.ExecutorRouteStrategy), "executor_handler": string(j.ExecutorHandler),
		"executor_param": string(j.ExecutorParam), "executor_block_strategy": string(j.ExecutorBlockStrategy),
		"executor_timeout": j.ExecutorTimeout, "executor_fail_retry_count": j.ExecutorFailRetryCount, "glue_type": string(j.GlueType),
		"glue_source": string(j.GlueSource), "glue_remark": string(j.GlueRemark), "child_jobid": string(j.ChildJobIDs),
		"time_zone": j.TimeZone, "start_at": j.StartAt, "end_at": j.EndAt, "retry_backoff": j.RetryBackoff, "max_concurrent": j.MaxConcurrent,
		"concurrency_policy": j.ConcurrencyPolicy, "retention_days": j.RetentionDays, "warn_after_seconds": j.WarnAfterSeconds,
		"expect_every_seconds": j.ExpectEverySeconds, "tags": j.Tags, "param_fixed": j.ParamFixed != 0,
	}
}

// groupFacts describe a group. The addresses of an automatic one are the registry's and nobody's change.
func groupFacts(g db.Group, o GroupOptions) Facts {
	f := Facts{"app_name": g.AppName, "title": g.Title, "address_type": g.AddressType, "idle_is_lost": o.IdleIsLost,
		"token_manages": o.TokenManages, "script_review": o.ScriptReview}
	if g.AddressType == AddressManual {
		f["address_list"] = string(g.AddressList)
	}
	return f
}

// facts describe a user without the password.
func (u User) facts() Facts {
	return Facts{
		"username": u.Name, "role": role(u.Admin), "disabled": u.Disabled, "rights": rightsText(u.Rights), "provider": u.Provider,
		"break_glass": u.BreakGlass,
	}
}

// rightsText is a line for each group, in the order of their ids.
func rightsText(rights map[int64]auth.Rights) string {
	ids := make([]int64, 0, len(rights))
	for id := range rights {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	lines := make([]string, len(ids))
	for i, id := range ids {
		lines[i] = "#" + strconv.FormatInt(id, 10) + " " + strings.Join(auth.RightNames(rights[id]), "+")
	}
	return strings.Join(lines, "\n")
}
