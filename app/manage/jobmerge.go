package manage

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// jobPart is what is merged as one: a field with those that are a detail of it ([jobspec.Field.Of]). That of the group has no fields.
type jobPart struct {
	name   string
	fields []*jobspec.Field
}

// jobParts are the parts of a definition in the order of the form. The kind of the code never changes, and a remark says something of
// the change itself.
var jobParts = func() (parts []jobPart) {
	for _, f := range jobspec.Fields {
		switch {
		case f.Name == jobspec.FieldGlue, f.Name == jobspec.FieldRemark:
			continue
		case f.Of != "":
			i := slices.IndexFunc(parts, func(p jobPart) bool { return p.name == f.Of })
			parts[i].fields = append(parts[i].fields, f)
			continue
		case f.Name == jobspec.FieldAuthor: // the group stands behind the name
			parts = append(parts, jobPart{name: FieldGroup})
		}
		parts = append(parts, jobPart{f.Name, []*jobspec.Field{f}})
	}
	return parts
}()

// lineEnds makes one of all, as browsers do.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// text is what a job says in a part; home is the zone of jobs that name none. What is written otherwise and means the same is the same.
func (p jobPart) text(in JobInput, home *time.Location) string {
	if p.fields == nil {
		return strconv.FormatInt(in.Group, 10)
	}
	j := in.Job.WithDefaults().Normalize()
	n := jobspec.Notation{Zone: time.UTC, Layout: time.RFC3339Nano, Yes: "yes"}
	var texts []string
	for _, f := range p.fields {
		if !f.In(&j) || f.Name == jobspec.FieldCron && j.ScheduleType == jobspec.ScheduleNone {
			continue
		}
		text := lineEnds.Replace(f.Text(&j, n))
		if f.Name == jobspec.FieldMoment {
			text = onceMoment(text, j.Zone, home)
		}
		if call, ok := PlainCall(text); ok && f.Name == jobspec.FieldParam && j.Handler == httpcall.Handler {
			text = call.String()
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\x00")
}

// onceMoment is which one a text means, with the zone in which it is read; what means none is left as it is, for others to refuse.
func onceMoment(text, zone string, home *time.Location) string {
	loc, err := jobspec.Location(zone)
	if err != nil {
		return text
	}
	at, err := jobspec.Moment(text, cmp.Or(loc, home))
	if err != nil {
		return text
	}
	return at.UTC().Format(time.RFC3339Nano) + " " + zone
}

func (p jobPart) copy(to, from *JobInput) {
	if p.fields == nil {
		to.Group = from.Group
	}
	for _, f := range p.fields {
		f.Copy(&to.Job, &from.Job)
	}
}

const markLength = 8

func mark(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:markLength]
}

// partsMark begins all marks: those of another version of the program, with other parts, are not read.
var partsMark = func() string {
	names := make([]string, len(jobParts))
	for i, p := range jobParts {
		names[i] = p.name
	}
	return mark(strings.Join(names, ","))
}()

// JobMarks are marks of a job's parts, for a form to carry: with them [MergeJobs] knows what somebody changed in it.
func JobMarks(in JobInput, home *time.Location) string {
	marks := partsMark
	for _, p := range jobParts {
		marks += mark(p.text(in, home))
	}
	return marks
}

// ChangedBy says whose change of a part it is.
type ChangedBy int

// Who changed a part.
const (
	ChangedByMe ChangedBy = iota + 1
	ChangedByThem
	ChangedByBoth // to something else, or it is not known what it was
)

// MergedPart is a part that was changed.
type MergedPart struct {
	Name   string           // of its first field, or [FieldGroup]
	Fields []*jobspec.Field // none for the group
	By     ChangedBy
}

// MergeJobs merges what somebody typed into a form with what is stored, by the marks ([JobMarks]) of what both began with; without
// them every difference counts as a change by both. What both changed to the same is no change.
func MergeJobs(marks string, mine, theirs JobInput, home *time.Location) (merged JobInput, changed []MergedPart) {
	merged = mine
	known := len(marks) == markLength*(1+len(jobParts)) && strings.HasPrefix(marks, partsMark)
	for i, p := range jobParts {
		my, their := p.text(mine, home), p.text(theirs, home)
		if my == their {
			p.copy(&merged, &theirs) // as it is written there
			continue
		}
		by := ChangedByBoth
		if known {
			base := marks[(i+1)*markLength:][:markLength]
			switch {
			case mark(their) == base:
				by = ChangedByMe
			case mark(my) == base:
				by = ChangedByThem
				p.copy(&merged, &theirs)
			}
		}
		changed = append(changed, MergedPart{p.name, p.fields, by})
	}
	return merged, changed
}

// TakeJobPart puts a part of what is stored into what somebody typed.
func TakeJobPart(name string, mine *JobInput, theirs JobInput) {
	for _, p := range jobParts {
		if p.name == name {
			p.copy(mine, &theirs)
		}
	}
}
