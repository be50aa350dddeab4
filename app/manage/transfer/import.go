package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// Options are what a file leaves open.
type Options struct {
	// ByID finds a job again by the id it had where it was exported, so that its executor and its description may have changed.
	// That is right for the installation the file came from; elsewhere the same id is another job, so without it jobs are found
	// by their executor and description.
	ByID bool
	// FileStates starts and stops jobs as the file says. Without it new jobs are stopped and the others stay as they are.
	FileStates bool
	// CreateGroups makes executors that do not exist; only administrators may.
	CreateGroups bool
	// Source is where the jobs are kept, such as a repository: they belong to it from then on, and none that belongs to another may be among
	// them. Revision is its state, such as a commit. Without a source nothing is noted.
	Source, Revision string
	// Prune deletes the jobs of the source that are in the files no more.
	Prune bool
	// Look is a plan for somebody who may see the jobs and change none, such as the pipeline of a merge request: it says what would be done for
	// who may. Scripts that they may not read are not compared.
	Look bool
}

// Outcome is what an import does with a job of the file.
type Outcome string

const (
	Create Outcome = "create"
	Change Outcome = "change"
	Same   Outcome = "same"
	Refuse Outcome = "refuse"
	Delete Outcome = "delete"
)

// Item is a job of a file, and what becomes of it.
type Item struct {
	From    string // name of the file, where several are read as one
	Line    int    // 0 of Delete
	ID      int64  // the job that it is here; 0 for a new one until it is created
	AppName string
	Name    string
	Outcome Outcome
	Changes []FieldChange   // of Change
	Faults  []jobfile.Fault // of Refuse
	Used    manage.UsedBy   // of Delete: what does without it then
	Adopted bool            // it was kept in no files, and is in those of the source from then on
	Unread  bool            // its script was not compared, see Options.Look
	Waits   bool            // its script waits for a second person, or will: the job has another one until then

	file     jobfile.Job
	group    executor
	old      db.Job // with an id if it exists
	in       manage.JobInput
	children []target
	uses     []int64 // the jobs that the steps of a flow run, as nodes
	start    bool
	stop     bool
	kept     db.FileJob // where it is kept so far
}

// Starts says that the job is to be started.
func (i *Item) Starts() bool { return i.start && i.Outcome != Refuse }

// CodeNoGroup is the fault of a job whose executor is not there, for who did not ask to have it created.
const CodeNoGroup = "import.error.group"

// FieldChange is a field whose value the import changes. Field is jobspec's name of it, manage.FieldGroup or FieldState.
type FieldChange struct{ Field, Was, Now string }

// FieldState is the name of a job's state in an [FieldChange].
const FieldState = "state"

// executor is that of a job: one that exists, or one to be created.
type executor struct {
	id    int64 // 0 for one to be created
	app   string
	title string
}

// Plan is what an import would do, or has done.
type Plan struct {
	Items []Item // in the order of the file
	// NewGroups are the app names of executors that it creates.
	NewGroups []string
	// Digest stands for the plan: an import is done only as long as planning it again gives the same.
	Digest string

	incoming manage.Incoming
	empty    []executor // those of NewGroups that no job of the file is for
}

// Count is how many jobs have an outcome.
func (p Plan) Count(o Outcome) int {
	n := 0
	for _, item := range p.Items {
		if item.Outcome == o {
			n++
		}
	}
	return n
}

// Work is how many jobs the import creates, changes or deletes.
func (p Plan) Work() int { return p.Count(Create) + p.Count(Change) + p.Count(Delete) }

// importer makes a plan.
type importer struct {
	s     *Service
	p     auth.Principal
	opts  Options
	items []Item
	code  manage.CodeHandlers

	groups    []db.Group            // those the principal may see
	named     map[jobName][]int64   // jobs that exist, by executor and description
	stored    map[int64]db.Job      // those of them that matter, and those that the file names by id
	flowNames map[int64]flow.JobRef // of the jobs of their steps
	kept      map[int64]db.FileJob
	pruned    map[int64]db.Job   // those that are to be deleted: for what the file says they are gone
	declared  map[int64]bool     // that a program brings with it
	inFile    map[fileName][]int // items by app name and description
	byID      map[int64]int      // items by the id they had where they were exported
	here      map[int64]int      // items by the job that they are here
}

type jobName struct {
	group int64
	name  string
}

type fileName struct{ app, name string }

// Plan says what importing a file would do, and changes nothing.
func (s *Service) Plan(ctx context.Context, p auth.Principal, f jobfile.File, opts Options) (Plan, error) {
	if opts.Look {
		p = p.AsEditor()
	}
	if !p.CanAnywhere(auth.RightEdit) {
		return Plan{}, &problem.Error{Kind: problem.Forbidden}
	}
	m := &importer{s: s, p: p, opts: opts, inFile: make(map[fileName][]int), byID: make(map[int64]int), here: make(map[int64]int)}
	if err := m.read(ctx, f); err != nil {
		return Plan{}, err
	}
	for i := range m.items {
		m.findGroup(i)
	}
	m.refuseTwins()
	for i := range m.items {
		m.match(i)
	}
	if err := m.readPruned(ctx); err != nil {
		return Plan{}, err
	}
	for i := range m.items {
		m.resolve(i)
	}
	for i := range m.items {
		m.judge(i)
	}
	if err := m.leaveWaiting(ctx); err != nil {
		return Plan{}, err
	}
	m.refuseParents()
	if err := m.refuseFlows(ctx); err != nil {
		return Plan{}, err
	}
	if err := m.refuseRings(ctx); err != nil {
		return Plan{}, err
	}
	if err := m.refuseFlows(ctx); err != nil {
		return Plan{}, err
	}
	if err := m.prune(ctx); err != nil {
		return Plan{}, err
	}
	empty, err := m.emptyGroups(f)
	if err != nil {
		return Plan{}, err
	}
	return m.plan(empty), nil
}

// read gathers the items, and everything of the database that matters to them.
func (m *importer) read(ctx context.Context, f jobfile.File) error {
	var err error
	if m.groups, err = m.s.cfg.Groups.List(ctx, m.p); err != nil {
		return err
	}
	if m.code, err = m.s.cfg.Jobs.CodeHandlers(ctx); err != nil {
		return err
	}
	if err := m.s.cfg.Jobs.LearnCalendars(ctx); err != nil {
		return err
	}
	var names []string
	var ids []int64
	apps := make(map[string]bool)
	for _, g := range f.Groups {
		apps[g.AppName] = true
		for _, j := range g.Jobs {
			i := len(m.items)
			m.items = append(m.items, Item{From: j.From, Line: j.Line, AppName: g.AppName, Name: j.Description(), file: j, group: executor{app: g.AppName, title: g.Title}})
			m.inFile[fileName{g.AppName, j.Description()}] = append(m.inFile[fileName{g.AppName, j.Description()}], i)
			names = append(names, j.Description())
			if j.ID != 0 {
				m.byID[j.ID] = i
				ids = append(ids, j.ID)
			}
			for _, ref := range j.Children {
				apps[ref.AppName] = true
				names = append(names, ref.Description)
				ids = append(ids, ref.ID)
			}
		}
	}
	var groupIDs []int64
	for _, g := range m.groups {
		if apps[g.AppName] {
			groupIDs = append(groupIDs, g.ID)
		}
	}
	m.named = make(map[jobName][]int64)
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(names))), 500) {
		rows, err := m.s.queries.ListJobsNamed(ctx, m.s.cfg.Pool, db.ListJobsNamedParams{GroupIds: groupIDs, Names: part})
		if err != nil {
			return fmt.Errorf("find jobs by name: %w", db.Error(err))
		}
		for _, row := range rows {
			if slices.Contains(part, row.JobDesc) { // MySQL finds other cases too
				m.named[jobName{row.JobGroup, row.JobDesc}] = append(m.named[jobName{row.JobGroup, row.JobDesc}], row.ID)
				ids = append(ids, row.ID)
			}
		}
	}
	if m.stored, err = m.s.cfg.Jobs.Stored(ctx, ids); err != nil {
		return err
	}
	if m.flowNames, err = m.s.flowNames(ctx, flowsAmong(m.stored), m.groups); err != nil {
		return err
	}
	return m.readKept(ctx, ids)
}

// fault refuses an item. field is jobspec's name, or manage.FieldGroup and the like; the line is that of the file's field for it.
func (m *importer) fault(i int, field, key string, args ...any) {
	item := &m.items[i]
	m.faultAt(i, item.file.LineOf(FileField(field)), problem.Field{Name: field, Key: key, Args: args})
}

func (m *importer) faultAt(i, line int, f problem.Field) {
	item := &m.items[i]
	item.Outcome = Refuse
	item.Faults = append(item.Faults, jobfile.Fault{Line: line, Field: f})
}

// refuseTwins refuses a job that another file has too: without ids to tell them apart both would be made, and neither found again.
func (m *importer) refuseTwins() {
	for name, places := range m.inFile {
		var once []int
		for _, i := range places {
			item := &m.items[i]
			first := slices.IndexFunc(once, func(k int) bool {
				id := m.items[k].file.ID
				return m.items[k].group.id == item.group.id && (id == item.file.ID || id == 0 || item.file.ID == 0)
			})
			if first < 0 || len(item.Faults) > 0 {
				once = append(once, i)
				continue
			}
			twin := m.items[once[first]]
			m.fault(i, fieldDescription, "import.error.same_job_in", "Name", item.Name, "File", twin.From, "First", twin.Line)
		}
		m.inFile[name] = once
	}
}

// match finds the job that an item is.
func (m *importer) match(i int) {
	item := &m.items[i]
	if len(item.Faults) > 0 {
		return
	}
	if m.opts.ByID && item.file.ID != 0 {
		if j, exists := m.stored[item.file.ID]; exists {
			if !m.p.CanUseGroup(j.JobGroup) {
				m.fault(i, fieldID, "import.error.foreign", "ID", item.file.ID)
				return
			}
			m.is(i, j)
			return
		}
	}
	if item.group.id == 0 {
		return
	}
	found := m.named[jobName{item.group.id, item.Name}]
	same := m.inFile[fileName{item.AppName, item.Name}]
	if m.opts.ByID { // those that the file finds by their ids are no others
		found = slices.DeleteFunc(slices.Clone(found), func(id int64) bool { _, is := m.byID[id]; return is })
		same = slices.DeleteFunc(slices.Clone(same), func(k int) bool { return m.stored[m.items[k].file.ID].ID != 0 })
	}
	switch {
	case len(found) == 0:
	case len(found) == 1 && len(same) == 1:
		m.is(i, m.stored[found[0]])
	case slices.Contains(found, item.file.ID):
		m.is(i, m.stored[item.file.ID])
	default:
		m.fault(i, fieldDescription, "import.error.ambiguous", "Name", item.Name, "Count", max(len(found), len(same)))
	}
}

func (m *importer) is(i int, j db.Job) {
	if first, taken := m.here[j.ID]; taken {
		m.fault(i, fieldDescription, "import.error.same_target", "ID", j.ID, "First", m.items[first].Line)
		return
	}
	m.here[j.ID] = i
	m.items[i].ID, m.items[i].old, m.items[i].kept = j.ID, j, m.kept[j.ID]
	m.items[i].Adopted = m.opts.Source != "" && m.kept[j.ID].Source == ""
	if kept := m.items[i].kept.Source; m.opts.Source != "" && kept != "" && kept != m.opts.Source {
		m.fault(i, fieldDescription, "import.error.source", "Source", kept)
	}
	if m.opts.Source != "" && m.declared[j.ID] {
		m.fault(i, fieldDescription, "import.error.declared")
	}
}

// findGroup finds the executor that an item names. Old databases have several with one app name; their titles tell them apart.
func (m *importer) findGroup(i int) {
	item := &m.items[i]
	var found []db.Group
	for _, g := range m.groups {
		if g.AppName == item.AppName {
			found = append(found, g)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(g db.Group) bool { return g.Title != item.group.title })
		if len(found) != 1 {
			m.fault(i, manage.FieldGroup, "import.error.groups", "Name", item.AppName)
			return
		}
	}
	switch {
	case len(found) == 1:
		item.group.id, item.group.title = found[0].ID, found[0].Title
	case !m.opts.CreateGroups:
		m.fault(i, manage.FieldGroup, CodeNoGroup, "Name", item.AppName)
	case !m.mayCreateGroups():
		m.fault(i, manage.FieldGroup, "import.error.group_admin", "Name", item.AppName)
	default:
		for _, f := range m.s.cfg.Groups.Check(item.group.input()) {
			m.faultAt(i, item.Line, f)
		}
	}
}

// mayCreateGroups says whether executors that are not found are created: by administrators. Who looks has to see all of them, or one that is there
// already would be said to be new.
func (m *importer) mayCreateGroups() bool { return m.p.Admin || m.opts.Look && m.p.CanUseGroup(0) }

// input is the executor as it would be created: one whose programs register by themselves.
func (g executor) input() manage.GroupInput {
	return manage.GroupInput{AppName: g.app, Title: cmp.Or(g.title, g.app)}
}

// emptyGroups are the executors to be created that have no jobs in the file. Where none are, or by whom may not, they are passed over: there is
// nothing that would miss them.
func (m *importer) emptyGroups(f jobfile.File) (list []executor, err error) {
	if !m.opts.CreateGroups || !m.mayCreateGroups() {
		return nil, nil
	}
	there := make(map[string]bool)
	for _, g := range m.groups {
		there[g.AppName] = true
	}
	for _, g := range f.Groups {
		there[g.AppName] = there[g.AppName] || len(g.Jobs) > 0
	}
	for _, g := range f.Groups {
		if there[g.AppName] {
			continue
		}
		there[g.AppName] = true
		e := executor{app: g.AppName, title: g.Title}
		if wrong := m.s.cfg.Groups.Check(e.input()); len(wrong) > 0 {
			return nil, problem.InvalidFields(wrong...)
		}
		list = append(list, e)
	}
	return list, nil
}

// plan ends the planning.
func (m *importer) plan(empty []executor) Plan {
	out := Plan{Items: m.items, incoming: m.incoming(), empty: empty}
	var all strings.Builder
	fmt.Fprintf(&all, "%+v", m.opts)
	for i := range m.items {
		item := &m.items[i]
		slices.SortStableFunc(item.Faults, func(a, b jobfile.Fault) int { return cmp.Compare(a.Line, b.Line) })
		if item.group.id == 0 && item.Outcome != Refuse && !slices.Contains(out.NewGroups, item.AppName) {
			out.NewGroups = append(out.NewGroups, item.AppName)
		}
		version := ""
		if item.ID != 0 {
			version = manage.JobVersion(item.old)
		}
		fmt.Fprintf(&all, "|%s:%d %s %d %s %d %v %v %q %v %q", item.From, item.Line, item.Outcome, item.ID, version, item.old.TriggerStatus, item.start, item.stop,
			fmt.Sprintf("%+v", item.in), item.children, item.Changes)
	}
	for _, e := range empty {
		out.NewGroups = append(out.NewGroups, e.app)
		fmt.Fprintf(&all, "|%q %q", e.app, e.title)
	}
	sum := sha256.Sum256([]byte(all.String()))
	out.Digest = hex.EncodeToString(sum[:8])
	return out
}
