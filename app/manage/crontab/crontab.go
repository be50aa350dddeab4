// Package crontab makes a job file of a crontab, as crontab(5) of Vixie's cron and its descendants describes one: a line becomes a job
// with a shell script that does what cron would have done. Nothing is run, and no file is read. What cannot be a job is left out and
// named in the notes, as is what will be another thing afterwards. docs/from-crontab.md describes it for people.
package crontab

import (
	"fmt"
	"maps"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Tag is what every job of a crontab is tagged with, so that they can be found together.
const Tag = "crontab"

// MaxText is the longest crontab that is read, in bytes.
const MaxText = 1 << 20

// maxNotes is after how many notes the lines that follow are not read: a crontab with as many is none.
const maxNotes = 1000

// maxName bounds the name of a job that is made of its command, in characters.
const maxName = 60

// Options are what a crontab does not say.
type Options struct {
	AppName string // of the executor that is to run the commands
	Author  string
	Zone    string // in which its times are read; empty for that of the installation
	System  bool   // it has the name of a user after the five fields, as /etc/crontab has
}

// Kind is what a note is about.
type Kind string

// Notes of lines that are left out.
const (
	Bytes   Kind = "bytes"   // it has bytes that are no text
	Fields  Kind = "fields"  // there are not five fields and a command, or no user before it
	Value   Kind = "value"   // Text is a field that cannot be read
	Macro   Kind = "macro"   // Text is an @word that cron does not know
	Reboot  Kind = "reboot"  // a job is due at times, and a start of the machine is none
	Days    Kind = "days"    // it is restricted to days of the month and to weekdays, and runs on either
	Both    Kind = "both"    // as Days, and runs on days that are both, since one of the two begins with a star
	Random  Kind = "random"  // Text has cron choose a value
	TooLong Kind = "toolong" // its schedule is longer than a job's may be
	Many    Kind = "many"    // the file has as many jobs as one may have, or is as long
)

// Notes of what is otherwise.
const (
	User   Kind = "user"   // Text is the user, and Name the executor that has to run as them
	Mailto Kind = "mailto" // Text is no address, so nobody is told
	Shell  Kind = "shell"  // Text is another shell than bash, which runs the script
	Delay  Kind = "delay"  // Text is how many minutes later, at most, cron starts the commands
)

// Note is what somebody has to know of a line.
type Note struct {
	Line int
	Kind Kind
	Text string
	Name string
}

// LeftOut says whether the line is no job of the file.
func (n Note) LeftOut() bool {
	return n.Kind != User && n.Kind != Mailto && n.Kind != Shell && n.Kind != Delay
}

// Convert makes the jobs, stopped, in the order of the lines.
func Convert(text string, o Options) (jobfile.File, []Note) {
	c := converter{Options: o, groups: make(map[string]int), users: make(map[string]string), names: make(map[[2]string]bool), zone: o.Zone, room: jobfile.MaxBytes}
	for i, line := range strings.Split(text, "\n") {
		c.line = i + 1
		if len(c.notes) >= maxNotes { // more than anybody reads
			c.note(Many, "", "")
			break
		}
		c.read(strings.TrimSpace(line))
	}
	return c.file, c.notes
}

// converter is where a reading stands.
type converter struct {
	Options
	line    int
	file    jobfile.File
	notes   []Note
	groups  map[string]int     // where they are in the file, by app name
	users   map[string]string  // the app name of each user's executor
	names   map[[2]string]bool // the names that jobs have, with the app name of their group
	jobs    int
	room    int    // for scripts
	comment string // on the line before
	exports []variable
	zone    string
	mailto  []string
}

// variable is a setting of the environment.
type variable struct{ name, value string }

// assignment is a line that sets a variable; the name may be in quotes, as the value.
var assignment = regexp.MustCompile(`^(["']?)([A-Za-z_][A-Za-z0-9_]*)["']?\s*=\s*(.*)$`)

func (c *converter) note(kind Kind, text, name string) {
	c.notes = append(c.notes, Note{Line: c.line, Kind: kind, Text: text, Name: name})
}

func (c *converter) read(line string) {
	comment := c.comment
	c.comment = ""
	if line == "" {
		return
	}
	isText := utf8.ValidString(line) && !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
	if rest, ok := strings.CutPrefix(line, "#"); ok {
		if isText {
			c.comment = title(rest)
		}
		return
	}
	if !isText {
		c.note(Bytes, "", "")
		return
	}
	if m := assignment.FindStringSubmatch(line); m != nil {
		c.set(m[2], unquoted(m[3]))
		return
	}
	c.entry(line, comment)
}

// set is a line NAME=value, which counts for the lines after it. Cron works nothing out in the value.
func (c *converter) set(name, value string) {
	switch name {
	case "CRON_TZ":
		c.zone = value
		return
	case "MAILTO":
		c.mail(value)
		return
	case "RANDOM_DELAY":
		c.note(Delay, value, "")
	case "SHELL":
		if shell := value[strings.LastIndexByte(value, '/')+1:]; shell != "bash" && shell != "sh" && shell != "dash" {
			c.note(Shell, value, "")
		}
	}
	if i := c.export(name); i >= 0 {
		c.exports[i].value = value
		return
	}
	c.exports = append(c.exports, variable{name, value})
}

// export is where a variable is among those that are set, or -1.
func (c *converter) export(name string) int {
	return slices.IndexFunc(c.exports, func(v variable) bool { return v.name == name })
}

// mail is who is told, from here on, of what a command prints; who is only a user of the machine cannot be told.
func (c *converter) mail(to string) {
	c.mailto = nil
	for _, one := range strings.FieldsFunc(to, func(r rune) bool { return r == ',' || r == ' ' }) {
		if a, err := mail.ParseAddress(one); err == nil && a.Address == one {
			c.mailto = append(c.mailto, one)
		} else {
			c.note(Mailto, one, "")
		}
	}
}

func (c *converter) entry(line, comment string) {
	s, rest, fault := schedule(line)
	if fault != nil {
		c.note(fault.kind, fault.text, "")
		return
	}
	app := c.AppName
	if c.System {
		user, command := cut(rest)
		if command == "" {
			c.note(Fields, "", "")
			return
		}
		app, rest = c.executor(user), command
	}
	rest = options.ReplaceAllString(rest, "")
	if rest == "" {
		c.note(Fields, "", "")
		return
	}
	if c.jobs == jobfile.MaxJobs || c.room < 0 {
		c.note(Many, "", "")
		return
	}
	script := c.script(rest)
	if c.room -= len(script); c.room < 0 {
		c.note(Many, "", "")
		return
	}
	c.jobs++
	if comment == "" {
		command, _, _ := stdin(rest)
		comment = shortened(command)
	}
	c.add(app, c.job(app, comment, s, script))
}

// options before a command say what cron mails and logs of it.
var options = regexp.MustCompile(`^(-[nq][ \t]+)+`)

// noAppName is what an app name cannot have.
var noAppName = regexp.MustCompile(`[^a-z0-9-]`)

// executor is the app name of a user's executor, which no other user has.
func (c *converter) executor(user string) string {
	if app, known := c.users[user]; known {
		return app
	}
	base := c.AppName + "-" + noAppName.ReplaceAllString(strings.ToLower(user), "-")
	app := base
	for n := 2; slices.Contains(slices.Collect(maps.Values(c.users)), app); n++ {
		app = fmt.Sprintf("%s-%d", base, n)
	}
	c.users[user] = app
	c.note(User, user, app)
	return app
}

func (c *converter) job(app, name, cron, script string) jobfile.Job {
	values := make(jobfile.Values)
	values.Set(jobspec.Named(jobspec.FieldName).File, c.unique(app, name))
	values.Set(jobspec.Named(jobspec.FieldAuthor).File, c.Author)
	values.Set(jobspec.Named(jobspec.FieldTags).File, Tag)
	values.Set(jobspec.Named(jobspec.FieldScheduleType).File, string(jobspec.ScheduleCron))
	values.Set(jobspec.Named(jobspec.FieldCron).File, cron)
	values.Set(jobspec.Named(jobspec.FieldZone).File, c.zone)
	values.Set(jobspec.Named(jobspec.FieldGlue).File, string(wire.GlueShell))
	values.Set(jobspec.Named(jobspec.FieldSource).File, script)
	values.Set(jobspec.Named(jobspec.FieldAlarmEmail).File, c.mailto...)
	return jobfile.Job{Values: values, State: jobfile.Stopped}
}

// unique is a name that no other job of its group has: a file finds jobs by theirs.
func (c *converter) unique(app, name string) string {
	own := name
	for n := 2; c.names[[2]string{app, own}]; n++ {
		own = fmt.Sprintf("%s (%d)", name, n)
	}
	c.names[[2]string{app, own}] = true
	return own
}

func (c *converter) add(app string, job jobfile.Job) {
	i, ok := c.groups[app]
	if !ok {
		i = len(c.file.Groups)
		c.groups[app] = i
		c.file.Groups = append(c.file.Groups, jobfile.Group{AppName: app})
	}
	c.file.Groups[i].Jobs = append(c.file.Groups[i].Jobs, job)
}

// script does what cron does with a command: in the home of the user, with the variables set so far, and with what stands behind the
// first % as its input.
func (c *converter) script(command string) string {
	command, input, hasInput := stdin(command)
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	for _, v := range c.exports {
		fmt.Fprintf(&b, "export %s='%s'\n", v.name, strings.ReplaceAll(v.value, "'", `'\''`))
	}
	b.WriteString("cd ~\n")
	b.WriteString(c.bashEnv())
	if !hasInput {
		return b.String() + command + "\n"
	}
	end := "END"
	for strings.Contains("\n"+input, "\n"+end+"\n") {
		end += "_"
	}
	fmt.Fprintf(&b, "{\n%s\n} <<'%s'\n%s%s\n", command, end, input, end)
	return b.String()
}

// bashEnv reads the file that bash would read first if cron started it. A name of it is worked out as bash does that.
func (c *converter) bashEnv() string {
	shell, file := c.export("SHELL"), c.export("BASH_ENV")
	if shell < 0 || file < 0 || c.exports[file].value == "" || !strings.HasSuffix(c.exports[shell].value, "bash") {
		return ""
	}
	name := `"` + strings.ReplaceAll(c.exports[file].value, `"`, `\"`) + `"`
	return "[ ! -e " + name + " ] || . " + name + "\n"
}

// stdin divides a command as cron does: the first % is its end, and what is behind it the input, in which a % is the end of a line. \% is a %,
// but where the backslash in a command is itself behind one.
func stdin(command string) (line, input string, has bool) {
	end, escaped := len(command), false
	for i := range len(command) {
		if command[i] == '%' && !escaped {
			end = i
			break
		}
		escaped = command[i] == '\\' && !escaped
	}
	line = strings.ReplaceAll(command[:end], `\%`, "%")
	if end == len(command) {
		return line, "", false
	}
	input = percents.Replace(command[end+1:])
	if input != "" && !strings.HasSuffix(input, "\n") {
		input += "\n"
	}
	return line, input, true
}

// percents are those of a command's input.
var percents = strings.NewReplacer(`\%`, "%", "%", "\n")

// unquoted is a value without its quotes.
func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// heading is how the line above the columns begins that a new crontab has.
var heading = regexp.MustCompile(`(?i)^(m|min|minute|分|分钟)\s+(h|hour|时|小时)`)

// title is what a comment calls the line after it; a line that was made a comment, and one of columns, are no titles.
func title(comment string) string {
	text := printable(strings.Trim(comment, "#-=* \t"))
	if !strings.ContainsFunc(text, unicode.IsLetter) || heading.MatchString(text) || assignment.MatchString(text) || strings.HasPrefix(text, "@") {
		return ""
	}
	if _, _, fault := schedule(strings.TrimSpace(strings.TrimLeft(comment, "# \t"))); fault == nil {
		return ""
	}
	return shortened(text)
}

// shortened is a text on one line that is no longer than a name, cut at a blank if there is one.
func shortened(text string) string {
	r := []rune(printable(text))
	if len(r) <= maxName {
		return string(r)
	}
	short := string(r[:maxName-1])
	if i := strings.LastIndexByte(short, ' '); i > len(short)/2 {
		short = short[:i]
	}
	return short + "…"
}

// printable is a text without what a name cannot have.
func printable(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}
