package manage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// The parts of a file's job that are not jobspec's.
const (
	fieldID          = "id"
	fieldDescription = jobspec.FieldName
)

// fileFields are the fields of a file behind those of a definition.
var fileFields = map[string]string{
	fieldID: jobfile.FieldID, FieldState: jobfile.FieldState,
	jobspec.FieldName: jobfile.FieldDescription, jobspec.FieldAuthor: jobfile.FieldAuthor, jobspec.FieldAlarmEmail: jobfile.FieldAlarmEmail,
	jobspec.FieldScheduleType: jobfile.FieldSchedule, jobspec.FieldCron: jobfile.FieldCron, jobspec.FieldSeconds: jobfile.FieldEvery,
	jobspec.FieldMoment: jobfile.FieldAt, jobspec.FieldMisfire: jobfile.FieldMisfire, jobspec.FieldRoute: jobfile.FieldRoute,
	jobspec.FieldBlock: jobfile.FieldBlock, jobspec.FieldGlue: jobfile.FieldKind, jobspec.FieldHandler: jobfile.FieldHandler,
	jobspec.FieldParam: jobfile.FieldParameter, jobspec.FieldSource: jobfile.FieldScript, jobspec.FieldRemark: jobfile.FieldRemark,
	jobspec.FieldChildren: jobfile.FieldChildren, jobspec.FieldTimeout: jobfile.FieldTimeout, jobspec.FieldRetries: jobfile.FieldRetries,
	jobspec.FieldZone: jobfile.FieldTimeZone, jobspec.FieldStart: jobfile.FieldNotBefore, jobspec.FieldEnd: jobfile.FieldNotAfter,
	jobspec.FieldBackoff: jobfile.FieldBackoff, "max_concurrent": jobfile.FieldConcurrent, "concurrency_policy": jobfile.FieldConcurrency,
	"retention_days": jobfile.FieldRetention, "warn_after": jobfile.FieldWarnAfter, "expect_every": jobfile.FieldExpectEvery,
	jobspec.FieldTags: jobfile.FieldTags, jobspec.FieldParamFixed: jobfile.FieldFixed,
}

// judge says what becomes of an item, as the use cases behind it will: those check again when it is done.
func (m *importer) judge(i int) {
	item := &m.items[i]
	if item.Outcome == ImportRefuse {
		return
	}
	exists := item.ID != 0
	running := exists && item.old.TriggerStatus == int64(jobspec.StatusRunning)
	if item.Outcome = ImportCreate; exists {
		item.Outcome = ImportChange
	}
	in := JobInput{Job: m.definition(i), Group: item.group.id}
	if exists {
		in.Version = JobVersion(item.old)
		if item.file.ScriptOmitted || in.Glue == wire.GlueBean {
			in.GlueSource, in.GlueRemark = string(item.old.GlueSource), string(item.old.GlueRemark)
		}
	}
	item.in = in
	if m.opts.KeepState {
		item.start = item.file.State == jobfile.Running && !running
		item.stop = item.file.State == jobfile.Stopped && running
	}
	if exists {
		if item.Changes = m.changes(i); len(item.Changes) == 0 && len(item.Faults) == 0 {
			item.Outcome = ImportSame // also what could not be saved so today
			return
		}
	}
	m.judgeFields(i)
	m.judgeRights(i)
	m.judgeScript(i)
	m.judgeCode(i)
	m.judgeSchedule(i, running)
	if item.Outcome == ImportRefuse {
		item.Changes = nil
	}
}

// definition is a file's job as it is to be saved, without its children. What the file leaves out is as in a new job's form.
func (m *importer) definition(i int) jobspec.Job {
	f := m.items[i].file
	j := jobspec.Job{
		ID: m.items[i].ID, Name: f.Description, Author: f.Author, AlarmEmail: strings.Join(f.AlarmEmail, ","), ScheduleType: jobspec.ScheduleType(f.Schedule),
		Misfire: jobspec.Misfire(f.Misfire), Route: jobspec.Route(f.Route), Block: wire.Block(f.Block), Glue: wire.Glue(f.Kind), Handler: f.Handler,
		Param: f.Parameter, GlueSource: f.Script, GlueRemark: f.ScriptRemark, TimeoutSeconds: int(f.TimeoutSeconds), Retries: int(f.Retries),
		Zone: f.TimeZone, Backoff: f.RetryBackoff, MaxConcurrent: int(f.MaxConcurrent), Concurrency: jobspec.Concurrency(f.Concurrency),
		RetentionDays: int(f.RetentionDays), WarnAfter: int(f.WarnAfterSeconds), ExpectEvery: int(f.ExpectEverySeconds), Tags: strings.Join(f.Tags, ","),
		ParamFixed: f.ParameterFixed,
	}
	m.conf(i, &j)
	if j.Glue == wire.GlueBean || j.Glue == "" {
		if j.GlueSource != "" || f.ScriptOmitted {
			m.fault(i, jobspec.FieldSource, "import.error.bean")
		}
	}
	zone := m.s.zoneNamed(strings.TrimSpace(f.TimeZone))
	moment := func(field, text string) int64 {
		if text == "" {
			return 0
		}
		at, err := jobspec.Moment(text, zone)
		if err != nil {
			m.fault(i, field, string(jobspec.CodeMoment))
			return 0
		}
		return at.UnixMilli()
	}
	j.Start, j.End = moment(jobspec.FieldStart, f.NotBefore), moment(jobspec.FieldEnd, f.NotAfter)
	return withDefaults(j.Normalize())
}

// conf takes the one of three fields that belongs to the schedule. Another one would say something that nobody heeds.
func (m *importer) conf(i int, j *jobspec.Job) {
	f := m.items[i].file
	mine := jobspec.FieldCron
	switch j.ScheduleType {
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		mine = jobspec.FieldSeconds
	case jobspec.ScheduleOnce:
		mine = jobspec.FieldMoment
	case jobspec.ScheduleCron, jobspec.ScheduleNone:
	}
	for field, text := range map[string]string{jobspec.FieldCron: f.Cron, jobspec.FieldSeconds: f.Every, jobspec.FieldMoment: f.At} {
		switch {
		case field == mine:
			j.ScheduleConf = text
		case text != "":
			m.fault(i, field, "import.error.schedule", "Field", fileFields[field], "Value", f.Schedule)
		}
	}
}

// withDefaults fills in what a definition may leave out.
func withDefaults(j jobspec.Job) jobspec.Job {
	j.Misfire, j.Route, j.Block = cmp.Or(j.Misfire, jobspec.MisfireDoNothing), cmp.Or(j.Route, jobspec.RouteFirst), cmp.Or(j.Block, wire.BlockSerial)
	j.Glue, j.Concurrency = cmp.Or(j.Glue, wire.GlueBean), cmp.Or(j.Concurrency, jobspec.ConcurrencyQueue)
	return j
}

func (m *importer) judgeFields(i int) {
	item := &m.items[i]
	in := item.in.Job
	in.ChildJobIDs = m.childList(item.children)
	for _, e := range jobspec.Validate(in) {
		if item.ID != 0 && e.Field == jobspec.FieldScheduleType && in.ScheduleType == item.old.ScheduleType {
			continue // as in the form: an adopted job keeps what it has
		}
		m.faultAt(i, item.file.LineOf(fileFields[e.Field]), SpecField(e))
	}
	m.judgeChildren(i)
}

func (m *importer) judgeRights(i int) {
	item := &m.items[i]
	may := func(right auth.Rights) bool {
		return m.p.Can(item.group.id, right) && (item.ID == 0 || m.p.Can(item.old.JobGroup, right))
	}
	if !may(auth.RightEdit) {
		m.fault(i, FieldGroup, "import.error.right_edit", "Name", item.AppName)
	}
	if (item.start || item.stop) && !may(auth.RightSchedule) {
		m.fault(i, FieldState, "import.error.right_schedule", "Name", item.AppName)
	}
}

func (m *importer) judgeScript(i int) {
	item := &m.items[i]
	in, exists := item.in, item.ID != 0
	switch {
	case exists && in.Glue != item.old.GlueType:
		m.fault(i, jobspec.FieldGlue, "import.error.kind", "Value", string(item.old.GlueType))
		return
	case in.Glue == wire.GlueBean:
		return
	case !exists && item.file.ScriptOmitted:
		m.fault(i, jobspec.FieldSource, "import.error.no_script")
		return
	case exists && in.GlueSource == string(item.old.GlueSource):
		if in.Group != item.old.JobGroup && !m.p.Can(in.Group, auth.RightGlue) { // it would run on other machines
			m.fault(i, FieldGroup, "problem.scripts.right")
		}
		return
	}
	if !m.s.cfg.Settings.Glue() {
		m.fault(i, jobspec.FieldSource, "problem.scripts.off")
	}
	if !m.p.Can(in.Group, auth.RightGlue) || exists && !m.p.Can(item.old.JobGroup, auth.RightGlue) {
		m.fault(i, jobspec.FieldSource, "problem.scripts.right")
	}
}

// judgeCode refuses a job whose parameter is code to whom may not write scripts.
func (m *importer) judgeCode(i int) {
	item := &m.items[i]
	var old *db.Job
	if item.ID != 0 {
		old = &item.old
	}
	if key := m.s.codeRefused(m.code, m.p, item.in, old); key != "" {
		m.fault(i, jobspec.FieldHandler, key)
	}
}

// yes writes a flag as files have it; one that is not set is nothing.
func yes(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// judgeSchedule asks that a job that will run has a time to come, where that is asked of it: when it is started, and when the
// schedule of one that runs changes.
func (m *importer) judgeSchedule(i int, running bool) {
	item := &m.items[i]
	if len(item.Faults) > 0 || !item.start && (!running || item.stop || !changedSchedule(item.in.Job, item.old)) {
		return
	}
	_, err := m.s.next(item.in.Job, 0)
	if err == nil {
		return
	}
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || len(p.Fields) == 0 {
		m.fault(i, jobspec.FieldScheduleType, string(jobspec.CodeNoTime))
		return
	}
	for _, f := range p.Fields {
		m.faultAt(i, item.file.LineOf(fileFields[f.Name]), f)
	}
}

// changes are the fields in which an item differs from the job that it is.
func (m *importer) changes(i int) []ImportFieldChange {
	item := &m.items[i]
	was, now := withDefaults(inputOf(item.old).Job.Normalize()), item.in.Job
	var list []ImportFieldChange
	add := func(field, was, now string) {
		if was != now {
			list = append(list, ImportFieldChange{Field: field, Was: was, Now: now})
		}
	}
	number := strconv.Itoa
	add(fieldDescription, was.Name, now.Name)
	if item.group.id != item.old.JobGroup {
		add(FieldGroup, m.groupName(item.old.JobGroup), item.AppName)
	}
	add(jobspec.FieldAuthor, was.Author, now.Author)
	add(jobspec.FieldScheduleType, string(was.ScheduleType), string(now.ScheduleType))
	add(confField(now.ScheduleType), was.ScheduleConf, now.ScheduleConf)
	add(jobspec.FieldZone, was.Zone, now.Zone)
	zone := m.s.zoneNamed(now.Zone)
	add(jobspec.FieldStart, moment(was.Start, zone), moment(now.Start, zone))
	add(jobspec.FieldEnd, moment(was.End, zone), moment(now.End, zone))
	add(jobspec.FieldMisfire, string(was.Misfire), string(now.Misfire))
	add(jobspec.FieldGlue, string(was.Glue), string(now.Glue))
	add(jobspec.FieldHandler, was.Handler, now.Handler)
	add(jobspec.FieldParam, was.Param, now.Param)
	add(jobspec.FieldParamFixed, yes(was.ParamFixed), yes(now.ParamFixed))
	if now.Glue != wire.GlueBean {
		before := was.GlueSource
		if before != now.GlueSource && !mayScript(m.p, item.old.JobGroup) {
			before = "" // it is refused, and not shown
		}
		if was.GlueSource != now.GlueSource {
			list = append(list, ImportFieldChange{Field: jobspec.FieldSource, Was: before, Now: now.GlueSource})
		}
	}
	add(jobspec.FieldRoute, string(was.Route), string(now.Route))
	add(jobspec.FieldBlock, string(was.Block), string(now.Block))
	add(jobspec.FieldTimeout, number(was.TimeoutSeconds), number(now.TimeoutSeconds))
	add(jobspec.FieldRetries, number(was.Retries), number(now.Retries))
	add(jobspec.FieldBackoff, was.Backoff, now.Backoff)
	add("max_concurrent", number(was.MaxConcurrent), number(now.MaxConcurrent))
	add("concurrency_policy", string(was.Concurrency), string(now.Concurrency))
	add("warn_after", number(was.WarnAfter), number(now.WarnAfter))
	add("expect_every", number(was.ExpectEvery), number(now.ExpectEvery))
	add("retention_days", number(was.RetentionDays), number(now.RetentionDays))
	add(jobspec.FieldAlarmEmail, was.AlarmEmail, now.AlarmEmail)
	add(jobspec.FieldTags, was.Tags, now.Tags)
	if !m.sameChildren(i) {
		kids, _, _ := jobspec.ChildIDs(string(item.old.ChildJobIDs))
		var before []importTarget
		for _, id := range kids {
			before = append(before, importTarget{id: id})
		}
		list = append(list, ImportFieldChange{Field: jobspec.FieldChildren, Was: m.childNames(before), Now: m.childNames(item.children)})
	}
	if item.start || item.stop {
		states := []string{jobfile.Stopped, jobfile.Running}
		if item.stop {
			slices.Reverse(states)
		}
		add(FieldState, states[0], states[1])
	}
	return list
}

// confField is the field of a form that shows the conf of a schedule.
func confField(t jobspec.ScheduleType) string {
	switch t {
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		return jobspec.FieldSeconds
	case jobspec.ScheduleOnce:
		return jobspec.FieldMoment
	case jobspec.ScheduleCron, jobspec.ScheduleNone:
		return jobspec.FieldCron
	default:
		return jobspec.FieldCron
	}
}

func moment(ms int64, zone *time.Location) string {
	if ms <= 0 {
		return ""
	}
	return time.UnixMilli(ms).In(zone).Format("2006-01-02 15:04:05.999 -07:00")
}

func (m *importer) groupName(id int64) string {
	for _, g := range m.groups {
		if g.ID == id {
			return g.AppName
		}
	}
	return "#" + strconv.FormatInt(id, 10)
}

// refuseRings refuses jobs that would start each other for ever once the file is imported.
func (m *importer) refuseRings(ctx context.Context) error {
	f := family{kids: make(map[int64][]int64), names: make(map[int64]string)}
	for i := range m.items {
		item := &m.items[i]
		if item.Outcome == ImportRefuse {
			continue
		}
		self := m.node(importTarget{item: i, inFile: true})
		f.kids[self], f.names[self] = []int64{}, item.Name
		for _, child := range item.children {
			f.kids[self] = append(f.kids[self], m.node(child))
		}
	}
	if err := m.s.extend(ctx, m.s.cfg.Pool, m.p, f); err != nil {
		return err
	}
	for i := range m.items {
		item := &m.items[i]
		if item.Outcome != ImportCreate && item.Outcome != ImportChange || len(item.children) == 0 {
			continue
		}
		if ring := f.ring(m.node(importTarget{item: i, inFile: true})); ring != "" {
			m.fault(i, jobspec.FieldChildren, "job.error.child_cycle", "Ring", ring)
			item.Changes = nil
		}
	}
	return nil
}
