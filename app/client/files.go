package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// files are what apply and diff read.
type files struct {
	Files        []string `short:"f" name:"file" required:"" sep:"none" placeholder:"PATH" help:"A file of jobs (docs/jobfile.md), a folder with such files (*.yaml, *.yml, *.json), or - for standard input. May be given several times."`
	Source       string   `env:"PUNCTUAL_SOURCE" required:"" placeholder:"NAME" help:"Where the files are kept, such as the name of their repository. The jobs belong to it; those of another source are refused."`
	Revision     string   `env:"PUNCTUAL_REVISION" placeholder:"COMMIT" help:"Their state, such as the commit."`
	Prune        bool     `help:"Delete the jobs of the source that are in the files no more."`
	ByID         bool     `name:"by-id" help:"Find jobs by the ids that the files give them, so that one can be renamed, or moved to another group, and keeps its runs. For files of one installation: elsewhere the same id is another job."`
	KeepStates   bool     `help:"Leave schedules started or stopped as they are, whatever the files say."`
	CreateGroups bool     `help:"Make groups of executors that do not exist; only administrators may."`
}

// What bounds one file, as the admin does.
const (
	maxJobFile  = 3 << 20
	maxFileJobs = 2000
)

// FileText is a file of jobs.
type FileText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ReadFiles reads files of jobs, those of folders in the order of their names.
func ReadFiles(paths []string, in io.Reader) ([]FileText, error) {
	var texts []FileText
	add := func(name string, from io.Reader) error {
		raw, err := io.ReadAll(io.LimitReader(from, maxJobFile+1))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(raw) > maxJobFile {
			return fmt.Errorf("%s is larger than %d MB", name, maxJobFile>>20)
		}
		if !utf8.Valid(raw) {
			return fmt.Errorf("%s is not in UTF-8", name)
		}
		texts = append(texts, FileText{filepath.ToSlash(name), strings.ReplaceAll(string(raw), "\r\n", "\n")})
		return nil
	}
	for _, path := range paths {
		if path == "-" {
			if err := add("-", in); err != nil {
				return nil, err
			}
			continue
		}
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir():
				if strings.HasPrefix(entry.Name(), ".") && name != path { // .git and the like
					return fs.SkipDir
				}
				return nil
			case name != path && leadsToFolder(name, entry):
				return fmt.Errorf("%s is a link to a folder, which is not read: name it with -f", name)
			case name != path && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
				return nil
			}
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			return add(name, file)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("no file of jobs in %s", strings.Join(paths, ", "))
	}
	return texts, nil
}

// leadsToFolder reports whether an entry is a link to a folder that would be read if it were none: with --prune its jobs would be deleted.
func leadsToFolder(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 || strings.HasPrefix(entry.Name(), ".") {
		return false
	}
	to, err := os.Stat(name)
	return err == nil && to.IsDir()
}

// plan is what the admin says of files.
type plan struct {
	Done      bool      `json:"done"`
	Digest    string    `json:"digest"`
	Looked    bool      `json:"looked"`
	NewGroups []string  `json:"new_groups"`
	Jobs      []planned `json:"jobs"`
	raw       json.RawMessage
}

// planned is what becomes of a job.
type planned struct {
	ID      int64  `json:"id"`
	File    string `json:"file"`
	AppName string `json:"app_name"`
	Name    string `json:"description"`
	Outcome string `json:"outcome"`
	Changes []struct{ Field, Was, Now string }
	Faults  []struct {
		Line   int    `json:"line"`
		Field  string `json:"field"`
		Detail string `json:"detail"`
		Code   string `json:"code"`
	} `json:"problems"`
	Adopted bool     `json:"adopted"`
	Waits   bool     `json:"script_waits"`
	Unread  bool     `json:"script_unread"`
	Lost    lostUses `json:"lost"`
}

// place is where something stands that is wrong with it; nothing of a job that is in no file any more.
func (j planned) place(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", plain(j.File), line)
}

// lostUses are the jobs and flows that use one that is deleted, and stay.
type lostUses struct {
	Parents []string `json:"parents"`
	Hidden  int      `json:"parents_hidden"`
	Flows   struct {
		Flows []struct {
			Name string `json:"description"`
		} `json:"flows"`
		Hidden int `json:"hidden"`
	} `json:"used_in"`
}

func (l lostUses) said() (list []string) {
	for _, name := range l.Parents {
		list = append(list, fmt.Sprintf("%q starts it as a child job", plain(name)))
	}
	for _, f := range l.Flows.Flows {
		list = append(list, fmt.Sprintf("a step of the flow %q runs it, and fails without it", plain(f.Name)))
	}
	if n := l.Hidden + l.Flows.Hidden; n > 0 {
		list = append(list, counted(n, "job or flow that you may not see uses it", "jobs and flows that you may not see use it"))
	}
	return list
}

// count is how many jobs have an outcome.
func (p plan) count(outcome string) (n int) {
	for _, j := range p.Jobs {
		if j.Outcome == outcome {
			n++
		}
	}
	return n
}

// counted is so many things, in words.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func countedJobs(n int) string { return counted(n, "job", "jobs") }

// missing says what helps where a job is refused for its group.
func (p plan) missing() string {
	for _, j := range p.Jobs {
		for _, f := range j.Faults {
			if f.Code == "import.error.group" {
				return "; --create-groups makes groups that there are not"
			}
		}
	}
	return ""
}

// work is how many jobs are, or would be, other than they were.
func (p plan) work() int { return p.count("create") + p.count("change") + p.count("delete") }

// ask sends files to the admin, with the digest of the plan that is meant, or for a plan.
func (f files) ask(ctx context.Context, a *api, texts []FileText, digest string, dry bool) (p plan, err error) {
	query := make(url.Values)
	if dry {
		query.Set("dry_run", "true")
	}
	p.raw, err = a.do(ctx, http.MethodPost, "/jobs/apply", query, map[string]any{
		"files": texts, "source": f.Source, "revision": f.Revision, "prune": f.Prune, "keep_states": f.KeepStates, "create_groups": f.CreateGroups, "by_id": f.ByID, "digest": digest,
	})
	if err != nil {
		return p, inFiles(err, texts)
	}
	if err := json.Unmarshal(p.raw, &p); err != nil {
		return p, fmt.Errorf("read what the admin said: %w", err)
	}
	return p, nil
}

// inFiles names the files that a refusal is about, which the admin counts.
func inFiles(err error, texts []FileText) error {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return err
	}
	for i, f := range refused.Errors {
		var file, line int
		if _, err := fmt.Sscanf(f.Field, "files.%d:%d", &file, &line); err == nil && file >= 0 && file < len(texts) {
			refused.Errors[i].Field = fmt.Sprintf("%s:%d", texts[file].Name, line)
		}
	}
	return refused
}

// print says what was done, or would be: a line for each job that does not stay as it is, what of it changes, and the counts.
func (p plan) print(out io.Writer) {
	for _, app := range p.NewGroups {
		fmt.Fprintf(out, "+ executor %s\n", plain(app))
	}
	for _, j := range p.Jobs {
		j.print(out)
	}
	fmt.Fprintf(out, "%d created, %d changed, %d deleted, %d as they are, %d refused", p.count("create"), p.count("change"), p.count("delete"), p.count("same"), p.count("refuse"))
	if !p.Done {
		fmt.Fprint(out, " (nothing was done)")
	}
	fmt.Fprintln(out)
	for _, note := range p.notes() {
		fmt.Fprintln(out, note)
	}
}

// print says what becomes of a job; nothing of one about which there is nothing to say.
func (j planned) print(out io.Writer) {
	if j.Outcome == "same" && !j.Waits && !j.Adopted {
		return
	}
	number := ""
	if j.ID != 0 {
		number = fmt.Sprintf(" #%d", j.ID)
	}
	marks := map[string]string{"create": "+", "change": "~", "delete": "-", "refuse": "!", "same": "="}
	fmt.Fprintf(out, "%s %s: %s%s\n", marks[j.Outcome], plain(j.AppName), plain(j.Name), number)
	for _, c := range j.Changes {
		if strings.Contains(c.Was+c.Now, "\n") {
			fmt.Fprintf(out, "    %s: another text\n", c.Field)
		} else {
			fmt.Fprintf(out, "    %s: %q -> %q\n", c.Field, c.Was, c.Now)
		}
	}
	if j.Adopted {
		fmt.Fprintln(out, "    kept in no files so far")
	}
	if j.Waits {
		fmt.Fprintln(out, "    script: waits for approval")
	}
	for _, use := range j.Lost.said() {
		fmt.Fprintf(out, "    %s\n", use)
	}
	for _, f := range j.Faults {
		fmt.Fprintf(out, "    %s%s: %s\n", j.place(f.Line), f.Field, plain(f.Detail))
	}
}

// notes are what there is to know of a plan of somebody who may not do it.
func (p plan) notes() (notes []string) {
	if p.Looked {
		notes = append(notes, "The token may only view: the rights of the one that applies this are judged then.")
	}
	unread := 0
	for _, j := range p.Jobs {
		if j.Unread {
			unread++
		}
	}
	if unread > 0 {
		notes = append(notes, fmt.Sprintf("The scripts of %s were not compared, since the token may not read them.", countedJobs(unread)))
	}
	return notes
}

// planOutput is how the commands that read files print.
type planOutput struct {
	Output string `short:"o" enum:"table,json,yaml,markdown" default:"table" help:"table, json, yaml or markdown, for a comment of a pull or merge request."`
}

// show prints a plan in the format that is asked for.
func (o planOutput) show(p plan, f files, s Streams) error {
	switch o.Output {
	case "json", "yaml":
		return (printer{s.Out, o.Output}).whole(p.raw)
	case "markdown":
		p.markdown(s.Out, f.Source, f.Revision)
	default:
		p.print(s.Out)
	}
	return nil
}

// failed says in a comment too why there is no plan, and gives it back.
func (o planOutput) failed(err error, f files, s Streams) error {
	if o.Output == "markdown" {
		failedMarkdown(s.Out, err, f.Source, f.Revision)
	}
	return err
}

// ApplyCmd makes jobs be what files say.
type ApplyCmd struct {
	Admin
	planOutput
	files
	DryRun bool `help:"Only say what would be done."`
}

// Run does what a plan says: when a job is changed in between, there is another plan first.
func (c ApplyCmd) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return c.failed(err, c.files, s)
	}
	texts, err := ReadFiles(c.Files, s.In)
	if err != nil {
		return c.failed(err, c.files, s)
	}
	a = a.patient(s.Err, false)
	a.same = true
	return c.apply(ctx, a, s, texts)
}

// maxPlans is how often apply plans anew when something is changed between a plan and its doing, as by another pipeline at the same time.
const maxPlans = 5

func (c ApplyCmd) apply(ctx context.Context, a *api, s Streams, texts []FileText) error {
	for plans := 1; ; plans++ {
		p, err := c.ask(ctx, a, texts, "", true)
		if err != nil {
			return c.failed(err, c.files, s)
		}
		if n := p.count("refuse"); n > 0 {
			return errors.Join(c.show(p, c.files, s), &ExitError{codeRefused, fmt.Errorf("%s refused; nothing was done%s", countedJobs(n), p.missing())})
		}
		if c.DryRun {
			return c.show(p, c.files, s)
		}
		p, err = c.ask(ctx, a, texts, p.Digest, false)
		refused, _ := errors.AsType[*RefusedError](err)
		switch {
		case err == nil:
			return c.show(p, c.files, s)
		case errors.Is(err, errInterrupted):
			return c.failed(&ExitError{codeInterrupted, errors.New("interrupted; the files may be applied all the same: punctual diff tells")}, c.files, s)
		case refused == nil || refused.Status != http.StatusPreconditionFailed:
			return c.failed(err, c.files, s)
		case plans == maxPlans:
			return c.failed(fmt.Errorf("jobs were changed %d times between the plan and its doing, by somebody or something else; the files are not applied: apply again", plans), c.files, s)
		}
	}
}

// DiffCmd compares jobs with files.
type DiffCmd struct {
	Admin
	planOutput
	files
}

// Run ends as diff does: 0 without a difference, 1 with one, 2 where it cannot be told.
func (c DiffCmd) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return &ExitError{codeRefused, c.failed(err, c.files, s)}
	}
	texts, err := ReadFiles(c.Files, s.In)
	if err != nil {
		return &ExitError{codeRefused, c.failed(err, c.files, s)}
	}
	p, err := c.ask(ctx, a, texts, "", true)
	if err != nil {
		return &ExitError{codeRefused, c.failed(err, c.files, s)}
	}
	if err := c.show(p, c.files, s); err != nil {
		return &ExitError{codeRefused, err}
	}
	switch {
	case p.count("refuse") > 0:
		return &ExitError{codeRefused, fmt.Errorf("%s would be refused%s", countedJobs(p.count("refuse")), p.missing())}
	case p.work() > 0:
		return &ExitError{codeFailed, fmt.Errorf("the files say otherwise of %s", countedJobs(p.work()))}
	case len(p.NewGroups) > 0:
		return &ExitError{codeFailed, errors.New("the files have groups of executors that there are not")}
	}
	return nil
}

type jobsExport struct {
	Target
	Group  groupRef `placeholder:"GROUP" complete:"groups" help:"Only the jobs of this group of executors: its number, or its app name."`
	Tag    string   `help:"Only jobs with this tag."`
	Format string   `default:"yaml" enum:"yaml,json" help:"yaml or json."`
	Dir    string   `placeholder:"DIR" help:"Write a file for each group of executors into this folder, called after its app name, or several of one with more jobs than a file takes. A file that is there is replaced. With --tag those of groups without such jobs are left alone."`
}

// ExportedJobs are jobs as a file, as the admin answers them.
type ExportedJobs struct {
	Text    string `json:"text"`
	Jobs    int    `json:"jobs"`
	Scripts int    `json:"scripts_omitted"`
	Orphans int    `json:"left_out"`
	Next    string `json:"next"` // where there are more
}

func (c jobsExport) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	query := url.Values{"format": {c.Format}}
	if c.Tag != "" {
		query.Set("tag", c.Tag)
	}
	if err := c.Group.narrow(ctx, a, query); err != nil {
		return err
	}
	if c.Dir != "" {
		return c.intoDir(ctx, a, s, query)
	}
	out, err := exportJobs(ctx, a, query)
	if err != nil {
		return err
	}
	out.tell(s.Err)
	_, err = io.WriteString(s.Out, out.Text)
	return err
}

func exportJobs(ctx context.Context, a *api, query url.Values) (out ExportedJobs, err error) {
	err = a.ask(ctx, &out, http.MethodGet, "/jobs/export", query, nil)
	return out, err
}

// tell says what is not in the file.
func (e ExportedJobs) tell(w io.Writer) {
	if e.Scripts > 0 {
		fmt.Fprintln(w, counted(e.Scripts, "job is without its script, which the token may not read", "jobs are without their scripts, which the token may not read"))
	}
	if e.Orphans > 0 {
		fmt.Fprintln(w, counted(e.Orphans, "job is left out, since its group of executors does not exist", "jobs are left out, since their groups of executors do not exist"))
	}
}

// intoDir writes a file for each group, the jobs of one at a time: all of an installation may be more than one answer takes.
func (c jobsExport) intoDir(ctx context.Context, a *api, s Streams, query url.Values) error {
	items, err := a.list(ctx, "/groups", make(url.Values), 0)
	if err != nil {
		return err
	}
	groups := make([]ExportedGroup, len(items))
	for i, raw := range items {
		if err := json.Unmarshal(raw, &groups[i]); err != nil {
			return fmt.Errorf("read what the admin said: %w", err)
		}
	}
	only := query.Get("group_id")
	query.Set("limit", strconv.Itoa(maxFileJobs))
	return IntoDir(s, c.Dir, c.Format, groups, func(group int64, cursor string) (out ExportedJobs, err error) {
		id := strconv.FormatInt(group, 10)
		if only != "" && only != id {
			return out, ErrNoJobs
		}
		query := maps.Clone(query)
		if group == 0 {
			query.Set("limit", "1")
		} else {
			query.Set("group_id", id)
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		out, err = exportJobs(ctx, a, query)
		if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Status == http.StatusNotFound {
			return out, ErrNoJobs
		}
		return out, err
	})
}

// ErrNoJobs is said of a group without the jobs that are asked for, or behind the last of them, which may be gone meanwhile.
var ErrNoJobs = errors.New("no job is there to export")

// IntoDir writes the file of each group into a folder: several of one with more jobs than a file takes, which page answers. They are put there
// when all are whole, so that a full disk leaves what an earlier day wrote. Of that, what is of jobs that are in others now is taken away, since
// apply would find them twice. Page is asked for group 0 too, for how many jobs have none.
func IntoDir(s Streams, dir, format string, groups []ExportedGroup, page func(group int64, cursor string) (ExportedJobs, error)) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var sum ExportedJobs
	var files, stale []string
	defer func() {
		for _, file := range files { // those that are not in their places
			if left := os.Remove(file + unfinished); !errors.Is(left, fs.ErrNotExist) {
				err = errors.Join(err, left)
			}
		}
	}()
	if all, err := page(0, ""); err == nil {
		sum.Orphans = all.Orphans
	} else if !errors.Is(err, ErrNoJobs) {
		return err
	}
	names := fileNames(groups)
	for i, g := range groups {
		file := func(n int) string {
			if n == 0 {
				return filepath.Join(dir, names[i]+"."+format)
			}
			return filepath.Join(dir, fmt.Sprintf("%s+%d.%s", names[i], n+1, format)) // no app name has a plus
		}
		n := 0
		for cursor, more := "", true; more; {
			out, err := page(g.ID, cursor)
			if errors.Is(err, ErrNoJobs) {
				break
			}
			if err != nil {
				return fmt.Errorf("group %s: %w", plain(g.AppName), err)
			}
			files = append(files, file(n))
			if err := os.WriteFile(file(n)+unfinished, []byte(out.Text), 0o666); err != nil { //nolint:gosec // as what a shell redirects
				return err
			}
			n, sum.Jobs, sum.Scripts = n+1, sum.Jobs+out.Jobs, sum.Scripts+out.Scripts
			cursor, more = out.Next, out.Next != ""
		}
		for ; n > 0; n++ {
			if _, err := os.Lstat(file(n)); err != nil {
				break
			}
			stale = append(stale, file(n))
		}
	}
	written := len(files)
	if written == 0 {
		sum.tell(s.Err)
		return ErrNoJobs
	}
	for len(files) > 0 {
		if err := os.Rename(files[0]+unfinished, files[0]); err != nil {
			return err
		}
		files = files[1:]
	}
	for _, file := range stale {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("%w; take it away: its jobs are in other files now", err)
		}
	}
	sum.tell(s.Err)
	_, err = fmt.Fprintf(s.Out, "%s in %s\n", countedJobs(sum.Jobs), counted(written, "file", "files"))
	return err
}

// unfinished ends the name of a file that is written; apply reads none that is called so.
const unfinished = ".unfinished"

// ExportedGroup is a group of executors with a file of its own.
type ExportedGroup struct {
	ID      int64  `json:"id"`
	AppName string `json:"app_name"`
}

// fileNames are the names of the files of groups, each of which is another: the app name where it is one, or with the number. Folders of some
// systems know no capitals.
func fileNames(groups []ExportedGroup) []string {
	taken := make(map[string]int)
	for _, g := range groups {
		taken[strings.ToLower(g.AppName)]++
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		id := "-" + strconv.FormatInt(g.ID, 10)
		switch named := fileName.MatchString(g.AppName) && !deviceName.MatchString(g.AppName); {
		case named && taken[strings.ToLower(g.AppName)] == 1:
			names[i] = g.AppName
			continue
		case named:
			names[i] = g.AppName + id
		default: // of a database of XXL-JOB, which takes any
			names[i] = "group" + id
		}
		for taken[strings.ToLower(names[i])] > 0 { // another is called so
			names[i] += id
		}
		taken[strings.ToLower(names[i])]++
	}
	return names
}

var (
	// fileName is what an app name may be to be that of a file.
	fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	// deviceName is what Windows takes for a device, with whatever ending.
	deviceName = regexp.MustCompile(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)
