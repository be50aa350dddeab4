package transfer

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
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

// FileField is the name of the field of a file behind one of a definition, or of [FieldState] and the like.
func FileField(name string) string {
	if f := jobspec.Named(name); f != nil {
		return f.File
	}
	return name
}

// judge says what becomes of an item, as the use cases behind it will: those check again when it is done.
func (m *importer) judge(i int) {
	item := &m.items[i]
	if item.Outcome == Refuse {
		return
	}
	exists := item.ID != 0
	running := exists && jobspec.Started(item.old.TriggerStatus)
	if item.Outcome = Create; exists {
		item.Outcome = Change
	}
	in := manage.JobInput{Job: m.definition(i), Group: item.group.id}
	if exists {
		in.Version = manage.JobVersion(item.old)
		item.Unread = m.opts.Look && jobspec.IsScript(in.Glue) && !m.p.Can(item.old.JobGroup, auth.RightGlue)
		if item.file.ScriptOmitted || item.Unread || in.Glue == wire.GlueBean {
			in.GlueSource, in.GlueRemark = string(item.old.GlueSource), string(item.old.GlueRemark)
		}
		if in.Glue == jobspec.GlueFlow && in.GlueSource == filed(string(item.old.GlueSource), m.flowNames) {
			in.GlueSource = string(item.old.GlueSource) // it names the same jobs, as its export does
		}
	}
	item.in = in
	if m.opts.FileStates {
		item.start = item.file.State == jobfile.Running && !running
		item.stop = item.file.State == jobfile.Stopped && running
	}
	if exists {
		if item.Changes = m.changes(i); len(item.Changes) == 0 && len(item.Faults) == 0 {
			item.Outcome = Same // also what could not be saved so today
			if m.opts.Source != "" {
				m.judgeRights(i) // who keeps it in files decides from then on what it is
			}
			return
		}
	}
	if held := item.kept.Source; held != m.opts.Source && held != "" && m.s.cfg.Settings.FilesHold() {
		m.fault(i, fieldDescription, "problem.job.held", "Source", held)
	}
	m.judgeFields(i)
	m.judgeRights(i)
	m.judgeScript(i)
	m.judgeCode(i)
	m.judgeSchedule(i, running)
	if item.Outcome == Refuse {
		item.Changes = nil
	}
}

// definition is a file's job as it is to be saved, without its children. What the file leaves out is as in a new job's form.
func (m *importer) definition(i int) jobspec.Job {
	file := m.items[i].file
	j, faults := jobspec.Read(func(f *jobspec.Field) string { return file.Values.Get(f.File) }, m.s.zoneNamed(strings.TrimSpace(file.Values.Get(jobspec.Named(jobspec.FieldZone).File))))
	for _, f := range faults {
		m.faultAt(i, file.LineOf(FileField(f.Name)), f)
	}
	j.ID = m.items[i].ID
	if j.Glue == jobspec.GlueFlow {
		j.GlueSource = m.nameJobs(j.GlueSource)
	}
	for _, f := range jobspec.Fields { // one that belongs to another schedule would say something that nobody heeds
		if !f.In(&j) && file.Values.Get(f.File) != "" {
			m.fault(i, f.Name, "import.error.schedule", "Field", f.File, "Value", string(j.ScheduleType))
		}
	}
	for _, f := range jobspec.Unheeded(j, func(f *jobspec.Field) bool { return file.Values.Get(f.File) != "" }) {
		m.faultAt(i, file.LineOf(FileField(f.Name)), f)
	}
	if (j.Glue == wire.GlueBean || j.Glue == "") && (j.GlueSource != "" || file.ScriptOmitted) {
		m.fault(i, jobspec.FieldSource, "import.error.bean")
	}
	return j.Normalize().WithDefaults()
}

func (m *importer) judgeFields(i int) {
	item := &m.items[i]
	in := item.in.Job
	in.ChildJobIDs = m.childList(item.children)
	var old *db.Job
	if item.ID != 0 {
		old = &item.old
	}
	for _, e := range m.s.cfg.Jobs.Judge(in, item.AppName, old) {
		m.faultAt(i, item.file.LineOf(FileField(e.Name)), e)
	}
	m.judgeChildren(i)
}

func (m *importer) judgeRights(i int) {
	item := &m.items[i]
	may := func(right auth.Rights) bool {
		return m.may(item.group.id, right) && (item.ID == 0 || m.p.Can(item.old.JobGroup, right))
	}
	if !may(auth.RightEdit) {
		m.fault(i, manage.FieldGroup, "import.error.right_edit", "Name", item.AppName)
	}
	if (item.start || item.stop) && !may(auth.RightSchedule) {
		m.fault(i, FieldState, "import.error.right_schedule", "Name", item.AppName)
	}
}

// may says whether the principal has a right in a group, in one that is to be created too: that was asked before.
func (m *importer) may(group int64, right auth.Rights) bool {
	return m.p.Can(group, right) || m.opts.Look && group == 0
}

func (m *importer) judgeScript(i int) {
	item := &m.items[i]
	in, exists := item.in, item.ID != 0
	switch {
	case exists && in.Glue != item.old.GlueType:
		m.fault(i, jobspec.FieldGlue, "import.error.kind", "Value", string(item.old.GlueType))
		return
	case !jobspec.IsScript(in.Glue):
		return
	case !exists && item.file.ScriptOmitted:
		m.fault(i, jobspec.FieldSource, "import.error.no_script")
		return
	case exists && in.GlueSource == string(item.old.GlueSource):
		if in.Group != item.old.JobGroup && !m.opts.Look && !m.p.Can(in.Group, auth.RightGlue) { // it would run on other machines
			m.fault(i, manage.FieldGroup, "problem.scripts.right")
		}
		return
	}
	if !m.s.cfg.Settings.Glue() {
		m.fault(i, jobspec.FieldSource, "problem.scripts.off")
	}
	if m.opts.Look {
		return
	}
	if !m.p.Can(in.Group, auth.RightGlue) || exists && !m.p.Can(item.old.JobGroup, auth.RightGlue) {
		m.fault(i, jobspec.FieldSource, "problem.scripts.right")
	}
}

// leaveWaiting finds the scripts that wait for a second person. One that waits already, as its file has it, is no change.
func (m *importer) leaveWaiting(ctx context.Context) error {
	for i := range m.items {
		item := &m.items[i]
		source := item.in.GlueSource
		if item.Outcome != Create && item.Outcome != Change || !jobspec.IsScript(item.in.Glue) || source == "" || source == string(item.old.GlueSource) {
			continue
		}
		waits, already, err := m.s.cfg.Jobs.ScriptReview(ctx, item.group.id, item.old, source)
		if err != nil {
			return err
		}
		item.Waits = waits
		if !already {
			continue
		}
		item.Changes = slices.DeleteFunc(item.Changes, func(c FieldChange) bool { return c.Field == jobspec.FieldSource })
		if len(item.Changes) == 0 {
			item.Outcome = Same
		}
	}
	return nil
}

// judgeCode refuses a job whose parameter is code to whom may not write scripts.
func (m *importer) judgeCode(i int) {
	item := &m.items[i]
	var old *db.Job
	if item.ID != 0 {
		old = &item.old
	}
	if m.opts.Look {
		return
	}
	if key := m.s.cfg.Jobs.CodeRefused(m.code, m.p, item.in, old); key != "" {
		m.fault(i, jobspec.FieldHandler, key)
	}
}

// judgeSchedule asks that a job that will run has a time to come, where that is asked of it: when it is started, and when the
// schedule of one that runs changes.
func (m *importer) judgeSchedule(i int, running bool) {
	item := &m.items[i]
	if len(item.Faults) > 0 || !item.start && (!running || item.stop || !manage.ChangedSchedule(item.in.Job, item.old)) {
		return
	}
	_, err := m.s.cfg.Jobs.NextTime(item.in.Job, 0)
	if err == nil {
		return
	}
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || len(p.Fields) == 0 {
		m.fault(i, jobspec.FieldScheduleType, jobspec.CodeNoTime)
		return
	}
	for _, f := range p.Fields {
		m.faultAt(i, item.file.LineOf(FileField(f.Name)), f)
	}
}

// changes are the fields in which an item differs from the job that it is.
func (m *importer) changes(i int) []FieldChange {
	item := &m.items[i]
	was, now := item.old.Spec().Normalize().WithDefaults(), item.in.Job
	notation := jobspec.Notation{Zone: m.s.zoneNamed(now.Zone), Layout: "2006-01-02 15:04:05.999 -07:00", Yes: "true"}
	var list []FieldChange
	for _, f := range jobspec.Fields {
		if f.Name == jobspec.FieldAuthor && item.group.id != item.old.JobGroup { // behind the name, as in the form
			list = append(list, FieldChange{manage.FieldGroup, m.groupName(item.old.JobGroup), item.AppName})
		}
		c := FieldChange{Field: f.Name, Was: f.Text(&was, notation), Now: f.Text(&now, notation)}
		switch {
		case c.Was == c.Now, !f.In(&now), f.Name == jobspec.FieldRemark, f.Name == jobspec.FieldChildren:
			continue
		case f.Name == jobspec.FieldSource && now.Glue == wire.GlueBean:
			continue
		case f.Name == jobspec.FieldSource && jobspec.IsScript(now.Glue) && !m.p.Can(item.old.JobGroup, auth.RightGlue):
			c.Was = "" // it is refused, and not shown
		}
		list = append(list, c)
	}
	if !m.sameChildren(i) {
		kids, _, _ := jobspec.ChildIDs(string(item.old.ChildJobIDs))
		var before []target
		for _, id := range kids {
			before = append(before, target{id: id})
		}
		list = append(list, FieldChange{Field: jobspec.FieldChildren, Was: m.childNames(before), Now: m.childNames(item.children)})
	}
	if item.start || item.stop {
		states := []string{jobfile.Stopped, jobfile.Running}
		if item.stop {
			slices.Reverse(states)
		}
		list = append(list, FieldChange{FieldState, states[0], states[1]})
	}
	return list
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
	f := manage.Family{Kids: make(map[int64][]int64), Names: make(map[int64]string), Steps: true}
	for i := range m.items {
		item := &m.items[i]
		if item.Outcome == Refuse {
			continue
		}
		self := m.node(target{item: i, inFile: true})
		f.Kids[self], f.Names[self] = slices.Clone(item.uses), item.Name
		for _, child := range item.children {
			f.Kids[self] = append(f.Kids[self], m.node(child))
		}
	}
	if err := m.s.cfg.Jobs.Extend(ctx, m.p, f); err != nil {
		return err
	}
	for i := range m.items {
		item := &m.items[i]
		if item.Outcome != Create && item.Outcome != Change || len(item.children) == 0 {
			continue
		}
		if ring := f.Ring(m.node(target{item: i, inFile: true})); ring != "" {
			m.fault(i, jobspec.FieldChildren, "job.error.child_cycle", "Ring", ring)
			item.Changes = nil
		}
	}
	return nil
}
