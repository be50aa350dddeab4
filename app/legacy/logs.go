package legacy

import (
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// maxLogs is how many runs come at once.
const maxLogs = 1000

// clearNames are upstream's names of what a clearing takes.
var clearNames = map[string]string{manage.FieldClearGroup: "jobGroup", manage.FieldClearJob: "jobId"}

// logRow is a run as XXL-JOB's lists have it.
type logRow struct {
	ID          int64  `json:"id"`
	Group       int64  `json:"jobGroup"`
	Job         int64  `json:"jobId"`
	Address     string `json:"executorAddress"`
	Handler     string `json:"executorHandler"`
	Param       string `json:"executorParam"`
	Sharding    string `json:"executorShardingParam"`
	Retries     int64  `json:"executorFailRetryCount"`
	TriggerTime any    `json:"triggerTime"`
	TriggerCode int64  `json:"triggerCode"`
	TriggerMsg  string `json:"triggerMsg"`
	HandleTime  any    `json:"handleTime"`
	HandleCode  int64  `json:"handleCode"`
	HandleMsg   string `json:"handleMsg"`
	AlarmStatus int64  `json:"alarmStatus"`
}

func (l *Legacy) logRow(c *call, r db.Run) logRow {
	return logRow{
		ID: r.ID, Group: r.JobGroup, Job: r.JobID, Address: str(r.ExecutorAddress), Handler: str(r.ExecutorHandler), Param: str(r.ExecutorParam),
		Sharding: str(r.ExecutorShardingParam), Retries: max(0, r.ExecutorFailRetryCount), TriggerTime: l.wall(c, r.TriggerTime), TriggerCode: r.TriggerCode,
		TriggerMsg: str(r.TriggerMsg), HandleTime: l.wall(c, r.HandleTime), HandleCode: r.HandleCode, HandleMsg: str(r.HandleMsg), AlarmStatus: r.AlarmStatus,
	}
}

func (l *Legacy) logList(c *call) (any, error) {
	group := c.number("jobGroup", 0)
	f := manage.RunFilter{Group: max(group, 0), Job: max(c.number("jobId", 0), 0)}
	const anyStatus = -1
	if status := c.oneOf("logStatus", anyStatus, 0, int64(manage.Succeeded), int64(manage.Failed), int64(manage.Open)); status != anyStatus {
		f.Result = manage.Result(status)
	}
	f.Since, f.Until = l.filterTime(c)
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	if err := inGroup(c.who, group); err != nil {
		return nil, err
	}
	f.Limit = p.limited(maxLogs)
	runs, total, err := l.cfg.Manage.Runs.Window(c.ctx, c.who, f, p.offset)
	if err != nil {
		return nil, err
	}
	list := make([]logRow, len(runs))
	for i, r := range runs {
		list[i] = l.logRow(c, r)
	}
	return rows{list: list, total: total, page: p}, p.complete(total, maxLogs)
}

// filterTime reads the two times of a range, "A - B".
func (l *Legacy) filterTime(c *call) (since, until time.Time) {
	sent := strings.TrimSpace(c.text("filterTime"))
	if sent == "" {
		return since, until
	}
	from, to, _ := strings.Cut(sent, " - ")
	since, err := l.moment(strings.TrimSpace(from))
	if err == nil {
		until, err = l.moment(strings.TrimSpace(to))
	}
	if err != nil {
		c.fault("filterTime", "legacy.error.range", "Value", sent)
	}
	since, _ = cron.Passes(since) // of an hour that comes twice nobody says which is meant
	_, until = cron.Passes(until)
	return since, until
}

// logPart is a part of a run's output in the console's words: the executors' isEnd is its end.
type logPart struct {
	From    int    `json:"fromLineNum"`
	To      int    `json:"toLineNum"`
	Content string `json:"logContent"`
	End     bool   `json:"end"`
}

// escaper does what upstream's console has done since 2.4.1: pages put the output into their HTML as it is.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func (l *Legacy) logCat(c *call) (any, error) {
	id, from := c.number("logId", 0), c.number("fromLineNum", 1)
	const mostLines = 1 << 30
	if from > mostLines {
		c.fault("fromLineNum", "job.error.out_of_range", "Min", 1, "Max", mostLines)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	part, err := l.cfg.Manage.Runs.ReadLog(c.ctx, c.who, id, int(max(from, 1)))
	if err != nil {
		return nil, err
	}
	return logPart{From: part.FromLineNum, To: part.ToLineNum, Content: escaper.Replace(part.LogContent), End: part.IsEnd}, nil
}

func (l *Legacy) logKill(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, l.cfg.Manage.Runs.Kill(c.ctx, c.who, id)
}

// logClear asks for runs to be deleted, which goes on after the answer.
func (l *Legacy) logClear(c *call) (any, error) {
	in := manage.ClearInput{Group: c.number("jobGroup", 0), Job: c.number("jobId", 0), Type: upkeep.ClearType(c.number("type", 0))}
	if err := c.err(); err != nil {
		return nil, err
	}
	_, err := l.cfg.Manage.Runs.Clear(c.ctx, c.who, in)
	return nil, named(err, clearNames)
}
