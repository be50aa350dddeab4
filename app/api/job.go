package api

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/deadline"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// The fields of a job that are no part of its definition.
const (
	fieldID      = "id"
	fieldGroup   = "group_id"
	fieldState   = "state"
	fieldOmitted = "script_omitted"
	fieldNext    = "next_due_at"
	fieldLast    = "last_due_at"
	fieldCreated = "created_at"
	fieldUpdated = "updated_at"
	fieldPaused  = "paused"
	fieldKept    = "kept_in"
	fieldUses    = "used_in"
	fieldDone    = "deadline"
)

// The states of a job.
const (
	stateRunning = "running"
	stateStopped = "stopped"
	statePaused  = "paused" // of a filter: started, and held still now
	stateReview  = "review" // of a filter: a change of its script waits for a second person
)

// jobNames are what a job's fields are called in JSON: as in job files.
var jobNames = func() map[string]string {
	names := map[string]string{manage.FieldGroup: fieldGroup}
	for _, f := range jobspec.Fields {
		names[f.Name] = f.File
	}
	return names
}()

// jobBody is the JSON of a definition, or of a part of one, before it is known over which it is written.
type jobBody struct{ members map[string]json.RawMessage }

func (b *jobBody) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &b.members) }

func (b jobBody) MarshalJSON() ([]byte, error) { return json.Marshal(b.members) }

// has says whether a field is named, with null or with a value.
func (b jobBody) has(field string) bool { _, ok := b.members[field]; return ok }

// group is the group that is named, or another one.
func (b jobBody) group(otherwise int64) int64 {
	var n json.Number
	if json.Unmarshal(b.members[fieldGroup], &n) != nil {
		return otherwise
	}
	id, err := strconv.ParseInt(whole(n), 10, 64)
	if err != nil || id == 0 {
		return otherwise
	}
	return id
}

// over writes what is named over a definition; null makes a field what it is in a new job. The schema has seen to the types.
func (b jobBody) over(j jobspec.Job) (jobspec.Job, error) {
	var faults []problem.Field
	was := j.ScheduleType
	for _, f := range jobspec.Fields {
		raw, ok := b.members[f.File]
		if !ok {
			continue
		}
		text, err := valueText(f, raw)
		switch {
		case err != nil:
			return j, err
		case text == "" && !f.In(&j): // says that it is not used, as is right
			continue
		case !f.In(&j):
			faults = append(faults, problem.Field{Name: f.Name, Key: "import.error.schedule", Args: []any{"Field", f.File, "Value", j.ScheduleType}})
			continue
		}
		if text == "" {
			text = f.Default
		}
		if fault := f.Put(&j, text, time.UTC); fault != nil {
			faults = append(faults, *fault)
		}
		if f.Name == jobspec.FieldScheduleType && j.ScheduleType != was {
			j.ScheduleConf = "" // it said something about the other type
		}
	}
	faults = append(faults, jobspec.Unheeded(j, func(f *jobspec.Field) bool { return b.has(f.File) })...)
	if len(faults) > 0 {
		return j, problem.InvalidFields(faults...)
	}
	return j, nil
}

// valueText is a value of JSON as [jobspec.Field.Put] takes it; null is nothing.
func valueText(f *jobspec.Field, raw json.RawMessage) (string, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case json.Number:
		return whole(v), nil
	case bool:
		if v {
			return "true", nil
		}
	case []any:
		var texts []string
		for _, element := range v {
			text, ok := element.(string)
			if n, isNumber := element.(json.Number); isNumber {
				text, ok = whole(n), true
			}
			if !ok || strings.ContainsAny(text, ",，") && f.Kind == jobspec.List {
				return "", problem.InvalidFields(problem.Field{Name: f.Name, Key: "api.error.comma"})
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, ","), nil
	}
	return "", nil
}

// whole is a number as it is written where no fraction is known: 5.0 and 5e0 are integers too.
func whole(n json.Number) string {
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	return n.String()
}

// newJob is a whole definition.
type newJob struct{ jobBody }

// jobPatch is a part of one.
type jobPatch struct{ jobBody }

// job is a job as it is read: fields of its own in an order that does not change.
type job struct {
	id  int64
	raw json.RawMessage
}

func (j job) MarshalJSON() ([]byte, error) { return j.raw, nil }

func (j *job) UnmarshalJSON(raw []byte) error {
	j.raw = slices.Clone(raw)
	return nil
}

// object writes the members of a JSON object in the order in which they are set.
type object struct{ b bytes.Buffer }

func (o *object) set(name string, value any) {
	separator := byte(',')
	if o.b.Len() == 0 {
		separator = '{'
	}
	o.b.WriteByte(separator)
	o.b.WriteString(strconv.Quote(name) + ":")
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // of texts, numbers and lists of them
	}
	o.b.Write(raw)
}

func (o *object) end() json.RawMessage {
	o.b.WriteByte('}')
	return o.b.Bytes()
}

// readJob is a job as p may see it. A script is for those who may write one, and in no list.
func (a *API) readJob(p auth.Principal, row db.Job, held *manage.Held, deadlines map[int64]deadline.Standing, uses *jobUses, kept *jobKept, listed bool) job {
	spec := row.Spec()
	hasSource := jobspec.HasSource(spec.Glue)
	omitted := hasSource && listed || jobspec.IsScript(spec.Glue) && !a.Manage.Jobs.CanScript(p, spec.Glue, row.JobGroup)
	var o object
	o.set(fieldID, row.ID)
	o.set(fieldGroup, row.JobGroup)
	o.set(fieldState, stateOf(row.TriggerStatus))
	for _, f := range jobspec.Fields {
		script := f.Name == jobspec.FieldSource || f.Name == jobspec.FieldRemark
		if f.In(&spec) && (!script || hasSource && !omitted) {
			o.set(f.File, fieldValue(f, &spec))
		}
	}
	o.set(fieldOmitted, omitted)
	var next *time.Time
	if at := a.Manage.Jobs.NextRun(row, held); at != nil {
		next = moment(*at)
	}
	o.set(fieldNext, next)
	o.set(fieldLast, momentOf(row.TriggerLastTime))
	o.set(fieldCreated, a.wall(row.AddTime))
	o.set(fieldUpdated, a.wall(row.UpdateTime))
	if now := pausedNow(held, row); now != nil {
		o.set(fieldPaused, now)
	}
	if standing, ok := deadlines[row.ID]; ok {
		o.set(fieldDone, deadlineOf(standing))
	}
	if uses != nil {
		o.set(fieldUses, uses)
	}
	if kept != nil {
		o.set(fieldKept, kept)
	}
	return job{row.ID, o.end()}
}

// jobDeadline is how a job stands for the time of day by which it has to be done.
type jobDeadline struct {
	By       *time.Time `json:"by" doc:"The deadline that the rest is about: the coming one, or the last one while that is missed; null: no run is planned before one."`
	State    string     `json:"state" enum:"none,ahead,ontime,atrisk,missed,done,late" doc:"Of the last planned run before it: none (nothing has to be done: no run, a pause, or a job that was stopped or changed since), ahead (still to come), ontime (not done, and expected in time), atrisk (expected too late), missed (not done in time), done or late (done after the time)."`
	Expected *time.Time `json:"expected_at" doc:"When that run will probably end, by how long the job usually takes, or when it ended; null: not known."`
	TooTight bool       `json:"too_tight" doc:"Whether the run is still to come, and the job usually takes longer than from its beginning to the deadline."`
}

func deadlineOf(s deadline.Standing) jobDeadline {
	return jobDeadline{By: moment(s.By), State: string(s.State), Expected: moment(s.Expected), TooTight: s.TooTight()}
}

// jobKept is where a job is kept in files.
type jobKept struct {
	Source   string     `json:"source" doc:"That of the files. A job that is kept in none, and one in a list, has no kept_in."`
	Revision string     `json:"revision" doc:"Their state when it was applied, such as a commit."`
	Applied  *time.Time `json:"applied_at" doc:"When it was made what they say last, or found to be it."`
	Changed  bool       `json:"changed" doc:"Somebody has changed it since, other than by them."`
}

// keptOf is nil for a job that is kept in no files.
func (a *API) keptOf(ctx context.Context, id int64) (*jobKept, error) {
	row, changed, err := a.Manage.Jobs.InFiles(ctx, id)
	if err != nil || row.Source == "" {
		return nil, err
	}
	return &jobKept{Source: row.Source, Revision: row.Revision, Applied: momentOf(row.AppliedAt), Changed: changed}, nil
}

// jobUses are the flows that use a job.
type jobUses struct {
	Flows  []jobUse `json:"flows" doc:"Those that the token may see."`
	Hidden int      `json:"hidden" doc:"How many others there are."`
}

type jobUse struct {
	ID   int64  `json:"id"`
	Name string `json:"description"`
}

// usesOf is nil for a job that no flow uses.
func (a *API) usesOf(ctx context.Context, p auth.Principal, row db.Job) (*jobUses, error) {
	found, err := a.Manage.Jobs.FlowsUsing(ctx, p, row)
	return readUses(found), err
}

func readUses(found manage.Uses) *jobUses {
	if !found.Any() {
		return nil
	}
	uses := &jobUses{Flows: make([]jobUse, len(found.Jobs)), Hidden: found.Hidden}
	for i, f := range found.Jobs {
		uses.Flows[i] = jobUse{f.ID, f.Name}
	}
	return uses
}

// LostUses is what does without a job once it is deleted.
type LostUses struct {
	Parents []string `json:"parents" doc:"The jobs that start it when they succeed, and that then start nothing in its place."`
	Hidden  int      `json:"parents_hidden" doc:"How many other such jobs there are that the token may not see."`
	Flows   *jobUses `json:"used_in,omitempty" doc:"The flows with a step that runs it, which then fails."`
}

func readLostUses(used manage.UsedBy) LostUses {
	lost := LostUses{Parents: []string{}, Hidden: used.Parents.Hidden, Flows: readUses(used.Flows)}
	for _, parent := range used.Parents.Jobs {
		lost.Parents = append(lost.Parents, parent.Name)
	}
	return lost
}

// paused is what holds a job's schedule still.
type paused struct {
	ID       int64              `json:"pause_id"`
	Scope    jobspec.PauseScope `json:"scope"`
	Until    *time.Time         `json:"until"`
	Strategy jobspec.Pausing    `json:"strategy"`
	Reason   string             `json:"reason"`
	By       string             `json:"made_by"`
}

// pausedNow is nil where nothing holds a job still.
func pausedNow(held *manage.Held, row db.Job) *paused {
	listed := manage.ListRow(row)
	stretch, in := held.Now(&listed)
	if !in {
		return nil
	}
	return &paused{ID: stretch.Pause.ID, Scope: stretch.Pause.Scope, Until: moment(stretch.Until), Strategy: stretch.Strategy, Reason: stretch.Pause.Reason, By: stretch.Pause.By}
}

func stateOf(status int64) string {
	if jobspec.Started(status) {
		return stateRunning
	}
	return stateStopped
}

// fieldValue is a field of a definition as JSON has it.
func fieldValue(f *jobspec.Field, j *jobspec.Job) any {
	value := f.Value(j)
	switch {
	case f.Name == jobspec.FieldChildren:
		ids := []int64{}
		for _, text := range jobspec.Elements(value.(string)) {
			if id, err := strconv.ParseInt(text, 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
		return ids
	case f.Name == jobspec.FieldSeconds:
		if n, err := strconv.ParseInt(value.(string), 10, 64); err == nil {
			return n
		}
		return nil
	case f.Kind == jobspec.List:
		return append([]string{}, jobspec.Elements(value.(string))...)
	case f.Kind == jobspec.Moments:
		return momentOf(value.(int64))
	}
	return value
}

// schemaNamed makes a schema a component of the document.
func schemaNamed(r huma.Registry, name string, make func() *huma.Schema) *huma.Schema {
	if r.Map()[name] == nil {
		s := make()
		s.PrecomputeMessages()
		r.Map()[name] = s
	}
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// Schema implements [huma.SchemaProvider].
func (newJob) Schema(r huma.Registry) *huma.Schema {
	return schemaNamed(r, "NewJob", func() *huma.Schema {
		s := definition(true)
		s.Properties[fieldGroup] = idSchema("The group whose executors run it.")
		s.Required = []string{fieldGroup}
		for _, f := range jobspec.Fields {
			if f.Required {
				s.Required = append(s.Required, f.File)
			}
			if f.Default != "" {
				s.Properties[f.File].Default = f.Default
			}
		}
		s.Properties[jobspec.Named(jobspec.FieldScheduleType).File].Default = string(jobspec.ScheduleNone)
		return s
	})
}

// Schema implements [huma.SchemaProvider].
func (jobPatch) Schema(r huma.Registry) *huma.Schema {
	return schemaNamed(r, "JobPatch", func() *huma.Schema {
		s := definition(true)
		for _, p := range s.Properties {
			p.Nullable = true
		}
		s.Properties[fieldGroup] = idSchema("The group whose executors run it.")
		return s
	})
}

// Schema implements [huma.SchemaProvider].
func (job) Schema(r huma.Registry) *huma.Schema {
	return schemaNamed(r, "Job", func() *huma.Schema {
		s := definition(false)
		for _, f := range jobspec.Fields {
			if f.Kind == jobspec.Moments || f.Name == jobspec.FieldSeconds {
				s.Properties[f.File].Nullable = true
			}
		}
		s.Properties[fieldID] = idSchema("Its number.")
		s.Properties[fieldGroup] = idSchema("The group whose executors run it.")
		s.Properties[fieldState] = &huma.Schema{Type: huma.TypeString, Enum: []any{stateRunning, stateStopped}, Description: "Whether its schedule is started."}
		s.Properties[fieldOmitted] = &huma.Schema{Type: huma.TypeBoolean, Description: "There is a script that is not shown: in a list, or because the token may not write scripts there."}
		for name, text := range map[string]string{
			fieldNext: "When a run of it comes next, as far as is known: null while it is stopped, waits for the end of a run, or is held by a pause without an end.", fieldLast: "When it was due last.", fieldCreated: "When it was made.", fieldUpdated: "When a person or program changed it last.",
		} {
			s.Properties[name] = &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true, Description: text}
		}
		s.Properties[fieldPaused] = schemaNamed(r, "Paused", pausedSchema)
		s.Properties[fieldDone] = r.Schema(reflect.TypeFor[jobDeadline](), true, "")
		s.Properties[fieldUses] = r.Schema(reflect.TypeFor[jobUses](), true, "")
		s.Properties[fieldKept] = r.Schema(reflect.TypeFor[jobKept](), true, "")
		s.Required = []string{fieldID, fieldGroup, fieldState, fieldOmitted, fieldNext, fieldLast, fieldCreated, fieldUpdated}
		return s
	})
}

// pausedSchema is the schema of [paused].
func pausedSchema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false,
		Required: []string{"pause_id", "scope", "until", "strategy", "reason", "made_by"},
		Properties: map[string]*huma.Schema{
			"pause_id": idSchema("The pause that holds the schedule still now; of several, the one that ends last. A job that nothing holds has no paused."),
			"scope":    {Type: huma.TypeString, Enum: []any{"job", "group", "tag", "all"}, Description: "What it is about."},
			"until":    {Type: huma.TypeString, Format: "date-time", Nullable: true, Description: "When it goes on; null: when somebody ends the pause."},
			"strategy": {Type: huma.TypeString, Enum: []any{"skip", "once", "all"}},
			"reason":   {Type: huma.TypeString}, "made_by": {Type: huma.TypeString},
		}}
}

func idSchema(text string) *huma.Schema {
	one, most := 1.0, float64(1<<53-1) // what every program's numbers hold exactly
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &one, Maximum: &most, Description: text}
}

// definition is the schema of the table's fields. What is stored may be out of today's limits, so only what is written has them.
func definition(written bool) *huma.Schema {
	english := locales.New().Printer(locales.English)
	s := &huma.Schema{Type: huma.TypeObject, Properties: make(map[string]*huma.Schema), AdditionalProperties: false}
	for _, f := range jobspec.Fields {
		p := fieldSchema(f, written)
		p.Description = english.T(f.Label) + "."
		if f.Help != "" {
			p.Description += " " + english.T(f.Help)
		}
		s.Properties[f.File] = p
	}
	return s
}

func fieldSchema(f *jobspec.Field, written bool) *huma.Schema {
	zero, most := 0.0, float64(f.Max)
	switch {
	case f.Name == jobspec.FieldChildren:
		return &huma.Schema{Type: huma.TypeArray, Items: idSchema("The number of a job.")}
	case f.Name == jobspec.FieldSeconds:
		one := 1.0
		return &huma.Schema{Type: huma.TypeInteger, Minimum: &one}
	}
	switch f.Kind {
	case jobspec.Number:
		s := &huma.Schema{Type: huma.TypeInteger}
		if written {
			s.Minimum, s.Maximum = &zero, &most
		}
		return s
	case jobspec.Flag:
		return &huma.Schema{Type: huma.TypeBoolean}
	case jobspec.Moments:
		return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
	case jobspec.List:
		return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
	case jobspec.Choice:
		s := &huma.Schema{Type: huma.TypeString}
		for _, option := range f.Options {
			if written {
				s.Enum = append(s.Enum, option)
			} else {
				s.Examples = append(s.Examples, option)
			}
		}
		return s
	case jobspec.Text:
	}
	s := &huma.Schema{Type: huma.TypeString}
	if written && f.Max > 0 {
		s.MaxLength = &f.Max
	}
	if one := 1; written && f.Required {
		s.MinLength = &one
	}
	return s
}
