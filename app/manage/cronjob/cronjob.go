// Package cronjob makes a file of jobs out of manifests of Kubernetes: each CronJob becomes a job that runs its command as a script, makes its call, or
// has Kubernetes start a Pod of it. Nothing is run, and no cluster is asked. What a job cannot take over is named in the notes.
// docs/from-kubernetes.md describes it for people.
package cronjob

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/app/manage/crontab"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What the jobs are tagged with, so that they can be found together: those that were suspended are not started with the others.
const (
	Tag          = "kubernetes"
	TagSuspended = "kubernetes-suspended"
)

// MaxText is how much is read, in bytes.
const MaxText = 8 << 20

const (
	maxObjects = 20_000 // an object that many aliases name counts often
	maxDepth   = 4      // of lists in lists
	maxNotes   = 2_000
)

// Options are what manifests do not say.
type Options struct {
	AppName string // of the executor that is to run the jobs
	HTTP    string // the app name of the executor of HTTP jobs, which then make the calls of commands that are one curl; empty: scripts do
	Author  string
	Zone    string // of CronJobs that name none: that of the cluster's controller
	Pods    bool   // each run has Kubernetes start a Pod of the CronJob; else the command is run where the executor is
}

// Note is what somebody has to know of a CronJob.
type Note struct {
	Line    int
	Name    string // with the namespace; empty where it is about the text
	Text    string
	LeftOut bool
}

// ErrNone is the error for a text with no CronJob in it.
var ErrNone = errors.New("there is no CronJob in it")

// Convert makes the jobs, stopped, in the order in which they stand there.
func Convert(text string, o Options) (jobfile.File, []Note, error) {
	c := converter{Options: o, names: make(map[string]int), room: jobfile.MaxBytes - 1<<20}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			c.notes = append(c.notes, Note{Text: "this is no YAML, and nothing behind it is read (of a template of Helm, take what `helm template` prints): " + strings.TrimPrefix(err.Error(), "yaml: "), LeftOut: true})
			break
		}
		c.object(node{&document}, 0)
	}
	if c.found == 0 && len(c.notes) == 0 {
		return jobfile.File{}, nil, ErrNone
	}
	var file jobfile.File
	for _, g := range []jobfile.Group{{AppName: o.AppName, Jobs: c.jobs}, {AppName: o.HTTP, Jobs: c.calls}} {
		if len(g.Jobs) > 0 {
			file.Groups = append(file.Groups, g)
		}
	}
	return file, c.notes, nil
}

// converter is where a reading stands.
type converter struct {
	Options
	jobs, calls []jobfile.Job
	notes       []Note
	names       map[string]int // the line of each CronJob
	objects     int
	found       int
	room        int // for scripts
}

// object reads an object of Kubernetes, or a list of them as kubectl prints it.
func (c *converter) object(n node, depth int) {
	if c.objects++; c.objects > maxObjects || depth > maxDepth || len(c.notes) > maxNotes {
		return
	}
	switch kind := n.text("kind"); {
	case kind == "CronJob":
		c.found++
		c.cronJob(n)
	case strings.HasSuffix(kind, "List"):
		for _, item := range n.list("items") {
			c.object(item, depth+1)
		}
	}
}

// one is a CronJob that is converted.
type one struct {
	*converter
	line            int
	namespace, name string
	values          jobfile.Values
	notes           []string
	out             bool // it is left out, as the last note says
}

func (o *one) note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// leave is a note of why the CronJob is no job.
func (o *one) leave(format string, args ...any) {
	o.notes, o.out = []string{fmt.Sprintf(format, args...)}, true
}

// objectName is what Kubernetes takes as the name of a CronJob or a namespace.
var objectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// maxName is the longest name of a CronJob.
const maxName = 52

func (c *converter) cronJob(n node) {
	meta := n.at("metadata")
	o := &one{converter: c, line: n.Line, name: meta.text("name"), namespace: meta.text("namespace"), values: make(jobfile.Values)}
	called := o.name
	if o.namespace != "" {
		called = o.namespace + "/" + o.name
	}
	first, twice := c.names[called]
	switch {
	case !objectName.MatchString(o.name) || len(o.name) > maxName || o.namespace != "" && !objectName.MatchString(o.namespace):
		called = ""
		o.leave("a CronJob without a name that Kubernetes takes")
	case twice:
		o.leave("it is there twice, first in line %d", first)
	case len(c.jobs)+len(c.calls) == jobfile.MaxJobs || c.room < 0:
		o.leave("the file is as long as it may be: split the manifests")
	default:
		c.names[called] = n.Line
		o.read(n.at("spec"))
	}
	for _, text := range o.notes {
		c.notes = append(c.notes, Note{Line: o.line, Name: called, Text: text, LeftOut: o.out})
	}
	if o.out {
		return
	}
	o.set(jobspec.FieldName, called)
	o.set(jobspec.FieldAuthor, c.Author)
	job := jobfile.Job{Values: o.values, State: jobfile.Stopped}
	if o.values.Get("handler") != "" {
		c.calls = append(c.calls, job)
	} else {
		c.jobs = append(c.jobs, job)
	}
}

func (o *one) set(field string, value string) { o.values.Set(jobspec.Named(field).File, value) }

func (o *one) read(spec node) {
	o.set(jobspec.FieldTags, Tag)
	if spec.flag("suspend") {
		o.set(jobspec.FieldTags, TagSuspended)
	}
	if o.schedule(spec); o.out {
		return
	}
	o.set(jobspec.FieldMisfire, string(jobspec.MisfireFireOnceNow))
	if within, ok := spec.number("startingDeadlineSeconds"); ok && within > 0 && within <= 31_536_000 {
		o.set(jobspec.FieldMisfire, string(jobspec.MisfireFireWithin))
		o.set(jobspec.FieldMisfireSpan, strconv.FormatInt(within, 10))
	}
	switch policy := spec.text("concurrencyPolicy"); policy {
	case "", "Allow":
		o.set(jobspec.FieldBlock, string(wire.BlockSerial))
	case "Forbid":
		o.set(jobspec.FieldBlock, string(wire.BlockDiscardLater))
		o.set(jobspec.FieldConcurrent, "1")
		o.set(jobspec.FieldConcurrency, string(jobspec.ConcurrencyDiscard))
	case "Replace":
		o.set(jobspec.FieldBlock, string(wire.BlockCoverEarly))
	default:
		o.leave("concurrencyPolicy %q is none", shown(policy))
		return
	}
	job := spec.at("jobTemplate", "spec")
	pod := job.at("template", "spec")
	if o.Pods {
		o.script(o.podScript())
		return
	}
	for _, name := range []string{"completions", "parallelism"} {
		if n, ok := job.number(name); ok && n != 1 {
			o.leave("%s is %d: a run is one command here. With --pods Kubernetes runs the Pods as before", name, n)
			return
		}
	}
	o.limits(job, pod)
	o.work(pod)
}

// schedule is when the job is due.
func (o *one) schedule(spec node) {
	schedule := spec.at("schedule")
	if !schedule.is(yaml.ScalarNode) || schedule.Value == "" {
		o.leave("its schedule is no text. Of a template of Helm, take what `helm template` prints")
		return
	}
	text, zone := schedule.Value, spec.text("timeZone")
	if rest, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(text), "CRON_"), "TZ="); ok {
		zone, text, _ = strings.Cut(rest, " ")
	}
	if zone == "" {
		zone = o.Zone
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		o.leave("%q is no time zone", shown(zone))
		return
	}
	cron, every, fault, what := crontab.Kubernetes(text)
	switch fault {
	case "":
	case crontab.Days:
		o.leave("it runs on these days of the month and on these weekdays as well (%s). Write two CronJobs, one for each", shown(text))
		return
	case crontab.Both:
		o.leave("it runs on days of the month that are these weekdays as well (%s). Write one of the two, and have the command look at the other", shown(text))
		return
	case crontab.TooLong:
		o.leave("its schedule is longer than a job's may be. Write it shorter, as a range or with a step")
		return
	default:
		o.leave("its schedule %q cannot be read: %q", shown(text), shown(what))
		return
	}
	if every > 0 {
		o.set(jobspec.FieldScheduleType, string(jobspec.ScheduleFixRate))
		o.set(jobspec.FieldSeconds, strconv.FormatInt(int64(every/time.Second), 10))
		return
	}
	o.set(jobspec.FieldScheduleType, string(jobspec.ScheduleCron))
	o.set(jobspec.FieldCron, cron)
	o.set(jobspec.FieldZone, zone)
}

// limits are how long a run may take, and how often it is tried.
func (o *one) limits(job, pod node) {
	retries, ok := job.number("backoffLimit")
	if !ok || retries < 0 {
		retries = 6 // as Kubernetes has it
	}
	if retries = min(retries, 9999); retries > 0 {
		o.set(jobspec.FieldRetries, strconv.FormatInt(retries, 10))
		o.set(jobspec.FieldBackoff, "10s*2<=6m")
	}
	var limit int64
	for _, n := range []node{job, pod} {
		if seconds, ok := n.number("activeDeadlineSeconds"); ok && seconds > 0 && (limit == 0 || seconds < limit) {
			limit = seconds
		}
	}
	switch {
	case limit > 999_999:
		o.note("activeDeadlineSeconds %d is longer than a time limit may be: it has none", limit)
	case limit > 0:
		o.set(jobspec.FieldTimeout, strconv.FormatInt(limit, 10))
		if retries > 0 {
			o.note("activeDeadlineSeconds is for all attempts together there, and for each of them here")
		}
	}
}

// script is the job's, in bash.
func (o *one) script(text string) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
		o.leave("its command has characters that no script has")
		return
	}
	o.converter.room -= len(text)
	o.set(jobspec.FieldGlue, string(wire.GlueShell))
	o.set(jobspec.FieldSource, text)
}

// shown is a text as a note has it.
func shown(text string) string {
	r := []rune(text)
	if len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return text
}

// node is a part of a manifest. What is not there is an empty one.
type node struct{ *yaml.Node }

func (n node) is(kind yaml.Kind) bool { return n.Node != nil && n.Kind == kind }

// followed is what an alias, or a document, stands for.
func (n node) followed() node {
	for range 10 { // an alias of an alias
		switch {
		case n.is(yaml.AliasNode):
			n = node{n.Alias}
		case n.is(yaml.DocumentNode) && len(n.Content) > 0:
			n = node{n.Content[0]}
		default:
			return n
		}
	}
	return node{}
}

// at is what stands under names, one below the other.
func (n node) at(names ...string) node {
	n = n.followed()
	for _, name := range names {
		if !n.is(yaml.MappingNode) {
			return node{}
		}
		var found node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				found = node{n.Content[i+1]}.followed()
			}
		}
		n = found
	}
	return n
}

// has reports whether something that says anything stands under a name.
func (n node) has(name string) bool {
	found := n.at(name)
	return found.Node != nil && found.Tag != "!!null" && (found.is(yaml.ScalarNode) || len(found.Content) > 0)
}

func (n node) text(name string) string {
	if found := n.at(name); found.is(yaml.ScalarNode) && found.Tag != "!!null" {
		return found.Value
	}
	return ""
}

func (n node) flag(name string) bool {
	var is bool
	found := n.at(name)
	return found.Node != nil && found.Decode(&is) == nil && is // what YAML 1.1 calls so, too
}

func (n node) number(name string) (int64, bool) {
	v, err := strconv.ParseInt(n.text(name), 10, 64)
	return v, err == nil
}

func (n node) list(name string) (list []node) {
	found := n.at(name)
	if !found.is(yaml.SequenceNode) {
		return nil
	}
	for _, item := range found.Content {
		list = append(list, node{item}.followed())
	}
	return list
}

// texts are those of a list, ok if it has nothing else.
func (n node) texts(name string) (list []string, ok bool) {
	for _, item := range n.list(name) {
		if !item.is(yaml.ScalarNode) {
			return nil, false
		}
		list = append(list, item.Value)
	}
	return list, !slices.ContainsFunc(list, func(s string) bool { return strings.ContainsRune(s, 0) })
}
