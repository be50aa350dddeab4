package db

import (
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Spec is the definition that a row holds.
func (j Job) Spec() jobspec.Job {
	return jobspec.Job{
		ID: j.ID, Name: j.JobDesc, Author: string(j.Author), AlarmEmail: string(j.AlarmEmail), ScheduleType: j.ScheduleType,
		ScheduleConf: string(j.ScheduleConf), Misfire: j.MisfireStrategy.With(j.MisfireMore), Route: j.ExecutorRouteStrategy, Block: wire.Block(j.ExecutorBlockStrategy),
		Glue: j.GlueType, Handler: string(j.ExecutorHandler), Param: string(j.ExecutorParam), GlueSource: string(j.GlueSource),
		GlueRemark: string(j.GlueRemark), ChildJobIDs: string(j.ChildJobIDs), TimeoutSeconds: int(j.ExecutorTimeout), Retries: int(j.ExecutorFailRetryCount),
		Zone: j.TimeZone, Start: j.StartAt, End: j.EndAt, Backoff: j.RetryBackoff, MaxConcurrent: int(j.MaxConcurrent),
		Concurrency: jobspec.Concurrency(j.ConcurrencyPolicy), RetentionDays: int(j.RetentionDays), WarnAfter: int(j.WarnAfterSeconds),
		ExpectEvery: int(j.ExpectEverySeconds), Tags: j.Tags, ParamFixed: j.ParamFixed != 0,
		Calendar: j.Calendar, CalendarRule: jobspec.CalendarRule(j.CalendarRule), DoneBy: j.DoneBy, MisfireLast: int(j.MisfireLast), MisfireWithin: int(j.MisfireWithin),
		KeepOutput: jobspec.Keep(j.KeepOutput), Runbook: j.Runbook, ParamForm: string(j.ParamForm), WhenLost: jobspec.WhenLost(j.WhenLost), Priority: jobspec.Priority(j.Priority),
	}
}

// JobRow is the row of a new job with a definition; the group and the times are the caller's.
func JobRow(j jobspec.Job) InsertJobParams {
	return InsertJobParams{
		JobDesc: j.Name, Author: Text(j.Author), AlarmEmail: Text(j.AlarmEmail), ScheduleType: j.ScheduleType, ScheduleConf: Text(j.ScheduleConf),
		MisfireStrategy: j.Misfire.Plain(), ExecutorRouteStrategy: j.Route, ExecutorHandler: Text(j.Handler), ExecutorParam: Text(j.Param),
		ExecutorBlockStrategy: Text(j.Block), ExecutorTimeout: int64(j.TimeoutSeconds), ExecutorFailRetryCount: int64(j.Retries), GlueType: j.Glue,
		GlueSource: Text(j.GlueSource), GlueRemark: Text(j.GlueRemark), ChildJobIDs: Text(j.ChildJobIDs), TimeZone: j.Zone, StartAt: j.Start,
		EndAt: j.End, RetryBackoff: j.Backoff, MaxConcurrent: int64(j.MaxConcurrent), ConcurrencyPolicy: string(j.Concurrency),
		RetentionDays: int64(j.RetentionDays), WarnAfterSeconds: int64(j.WarnAfter), ExpectEverySeconds: int64(j.ExpectEvery), Tags: j.Tags,
		Calendar: j.Calendar, CalendarRule: string(j.CalendarRule), DoneBy: j.DoneBy, MisfireMore: j.Misfire.More(),
		MisfireLast: int64(j.MisfireLast), MisfireWithin: int64(j.MisfireWithin), KeepOutput: string(j.KeepOutput), Runbook: j.Runbook, ParamForm: Text(j.ParamForm), WhenLost: string(j.WhenLost), Priority: string(j.Priority),
		ParamFixed: Flag(j.ParamFixed),
	}
}

// JobChange is JobRow for a job that exists. The kind of its code stays, and a script changes as a new version only.
func JobChange(j jobspec.Job) UpdateJobParams {
	row := JobRow(j)
	return UpdateJobParams{
		ID: j.ID, JobDesc: row.JobDesc, Author: row.Author, AlarmEmail: row.AlarmEmail, ScheduleType: row.ScheduleType, ScheduleConf: row.ScheduleConf,
		MisfireStrategy: row.MisfireStrategy, ExecutorRouteStrategy: row.ExecutorRouteStrategy, ExecutorHandler: row.ExecutorHandler,
		ExecutorParam: row.ExecutorParam, ExecutorBlockStrategy: row.ExecutorBlockStrategy, ExecutorTimeout: row.ExecutorTimeout,
		ExecutorFailRetryCount: row.ExecutorFailRetryCount, ChildJobIDs: row.ChildJobIDs, TimeZone: row.TimeZone, StartAt: row.StartAt,
		EndAt: row.EndAt, RetryBackoff: row.RetryBackoff, MaxConcurrent: row.MaxConcurrent, ConcurrencyPolicy: row.ConcurrencyPolicy,
		RetentionDays: row.RetentionDays, WarnAfterSeconds: row.WarnAfterSeconds, ExpectEverySeconds: row.ExpectEverySeconds, Tags: row.Tags,
		ParamFixed: row.ParamFixed, Calendar: row.Calendar, CalendarRule: row.CalendarRule, DoneBy: row.DoneBy,
		MisfireMore: row.MisfireMore, MisfireLast: row.MisfireLast, MisfireWithin: row.MisfireWithin, KeepOutput: row.KeepOutput, Runbook: row.Runbook, ParamForm: row.ParamForm, WhenLost: row.WhenLost, Priority: row.Priority,
	}
}
